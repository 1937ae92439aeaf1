import { checkCheckpoint } from './check-checkpoint.ts';
import { checkEnvironment } from './check-environment.ts';
import { checkTemplates } from './check-templates.ts';
import { checkRecovery } from './check-recovery.ts';
import { isInside, overlap, plainPath } from './inside.ts';
import { entriesAt, textsAt, valueAt } from './raw-value.ts';
import { problemAt, problemAtKey, showKey, type SourceFile, type SpecProblem } from './source-file.ts';
import { dataMethods, type Scalar } from './spec.ts';
import { isBuiltin } from './template.ts';

const mostJobs = 100_000;

/**
 * What no single value shows: placeholders without a parameter, folders that collide, methods that do not fit.
 * Looks at the values as they were written, so that it finds its problems beside those of the schema.
 */
export function checkConsistency(source: SourceFile): SpecProblem[] {
  const isList = (entry: [string, unknown]): entry is [string, Scalar[]] => Array.isArray(entry[1]);
  const matrix = Object.fromEntries(entriesAt(source.value, ['run', 'matrix']).filter(isList));
  const tooMany = checkNumber(source, matrix);
  return [
    ...tooMany,
    ...checkNames(source, Object.keys(matrix)),
    ...(tooMany.length > 0 ? [] : checkTemplates(source, matrix)),
    ...checkFolders(source),
    ...checkMethods(source),
    ...checkEnvironment(source),
    ...checkRecovery(source, matrix),
    ...checkCheckpoint(source),
  ];
}

function checkNumber(source: SourceFile, matrix: Record<string, Scalar[]>): SpecProblem[] {
  const each = valueAt(source.value, ['run', 'jobs']) ?? 1;
  const combined = Object.values(matrix).reduce((product, values) => product * values.length, 1);
  const total = combined * (typeof each === 'number' ? each : 1);
  if (total <= mostJobs || combined === 1) return [];
  const message = `${combined} combinations make ${total} jobs; expected at most ${mostJobs}`;
  return [problemAt(source, ['run', 'matrix'], message)];
}

function checkNames(source: SourceFile, names: string[]): SpecProblem[] {
  const problems: SpecProblem[] = [];
  const variables = new Map<string, string>();
  for (const name of names) {
    const at = ['run', 'matrix', name];
    const same = variables.get(name.toUpperCase());
    if (isBuiltin(name))
      problems.push(
        problemAtKey(source, at, 'this name is taken: {job} and {index} are there for every job'),
      );
    if (same !== undefined)
      problems.push(problemAtKey(source, at, `differs from "${same}" only in case; expected another name`));
    variables.set(name.toUpperCase(), name);
  }
  return problems;
}

function checkFolders(source: SourceFile): SpecProblem[] {
  const taken = textsAt(source.value, ['train', 'files']).map(([at, path]) => ({
    at,
    path: plainPath(path),
  }));
  const problems: SpecProblem[] = [];
  for (const [name] of entriesAt(source.value, ['data'])) {
    const at = ['data', name, 'into'];
    const written = valueAt(source.value, at) ?? 'data';
    if (typeof written !== 'string' || !isInside(written)) continue;
    const path = plainPath(written);
    const other = taken.find((one) => overlap(one.path, path));
    if (other !== undefined) {
      const message = `"${path}" collides with "${other.path}" of ${showKey(other.at)}; expected a folder of its own for each`;
      problems.push(problemAt(source, at, message));
    }
    taken.push({ at, path });
  }
  return problems;
}

function checkMethods(source: SourceFile): SpecProblem[] {
  return entriesAt(source.value, ['data']).flatMap(([name]) => {
    const url = valueAt(source.value, ['data', name, 'url']);
    if (typeof url !== 'string') return [];
    const at = ['data', name, 'method'];
    const wrong = misfit(valueAt(source.value, at), url);
    return wrong === undefined ? [] : [problemAt(source, at, wrong)];
  });
}

/** Which methods can fetch which URLs. */
function misfit(method: unknown, url: string): string | undefined {
  const [kind, fitting]: [string, string[]] = /^https?:/i.test(url)
    ? ['an https:// URL', ['https', 'stream']]
    : /^file:/i.test(url)
      ? ['a file of this machine', ['native']]
      : ['an object of a federation', ['osdf', 'stream']];
  const other = dataMethods.find((one) => one === method && one !== 'auto' && !fitting.includes(one));
  if (other === undefined) return undefined;
  const words = [...fitting, 'auto'].map((word) => `"${word}"`).join(' or ');
  return `"${other}" cannot fetch ${kind}; expected ${words}`;
}
