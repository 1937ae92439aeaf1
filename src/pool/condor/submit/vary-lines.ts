import { Fault } from '../../../fault/fault.ts';

/** Lines of one submit file for jobs that differ: what differs is a variable of the item data. */
export interface VariedLines {
  lines: string[];
  /** The variables, each with its value for every variant. */
  columns: { name: string; values: string[] }[];
}

/** Commands that HTCondor takes once for all jobs of a cluster. */
const ofCluster = new Set(['universe', 'executable', 'log', 'batch_name']);

/**
 * Joins the submit files of several variants. Jobs of one cluster keep their order in the queue, whatever they differ
 * in. Pure.
 */
export function varyLines(variants: readonly (readonly string[])[]): VariedLines {
  const [first = [], ...others] = variants;
  if (others.length === 0) return { lines: [...first], columns: [] };
  const values = variants.map((lines) => new Map(lines.flatMap(toCommand)));
  const columns: VariedLines['columns'] = [];
  const lines = joinedOrder(variants).map((line) => {
    const [command] = toCommand(line);
    if (command === undefined) return line;
    const [name] = command;
    const each = values.map((one) => one.get(name) ?? absent(name));
    if (new Set(each).size === 1) return line;
    if (ofCluster.has(name)) throw cannotVary(name);
    const variable = `job_${name.replace(/^MY\./, '').toLowerCase()}`;
    columns.push({ name: variable, values: each });
    return `${name} = $(${variable})`;
  });
  return { lines, columns };
}

/** The value of a command that a job does not have: left out, it would have that of the cluster's first job. */
function absent(name: string): string {
  if (name.startsWith('MY.')) return 'undefined';
  if (name === 'request_gpus') return '0';
  // These mean nothing to a job without GPUs.
  if (name.startsWith('gpus_minimum_')) return '';
  throw cannotVary(name);
}

const toCommand = (line: string): [string, string][] => {
  const [, name, value] = /^([\w.+]+) = (.*)$/s.exec(line) ?? [];
  return name === undefined ? [] : [[name, value ?? '']];
};

const nameIn = (line: string): string => toCommand(line)[0]?.[0] ?? '';

/** All lines of the first variant, and after their predecessors those that only others have. */
function joinedOrder([first = [], ...others]: readonly (readonly string[])[]): string[] {
  const joined = [...first];
  const known = new Set(first.map(nameIn));
  for (const lines of others)
    for (const [index, line] of lines.entries()) {
      const name = nameIn(line);
      if (name === '' || known.has(name)) continue;
      const before = nameIn(lines[index - 1] ?? '');
      const at = joined.findIndex((one) => before !== '' && nameIn(one) === before);
      joined.splice(at === -1 ? joined.length : at + 1, 0, line);
      known.add(name);
    }
  return joined;
}

const cannotVary = (name: string): Fault =>
  new Fault(
    'file-invalid',
    `the jobs of the matrix differ in "${name}" of the submit file, which HTCondor takes once for all jobs of a submission`,
    { fix: 'give all jobs the same there, or make a run for each value' },
  );
