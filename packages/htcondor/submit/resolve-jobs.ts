import { defined, type SourceLine } from '@updraft/base';
import { expandMacros, CircularMacro, evaluateNumber } from './expand-macros.ts';
import type { SubmittedJob } from './submission.ts';
import { type SubmitReader, targetOf } from './submit-reader.ts';

/** Jobs of all queue statements together; beyond it, only the first of each statement is resolved. */
const maxResolved = 2000;

/** A name in place of its value, in the template of a queue statement's jobs. */
export const markedName = (name: string): string => `\x02${name}\x03`;

/**
 * The first jobs of a queue statement with everything expanded, how many there are in all, and the template of them:
 * a job with `markedName`s for its items, for `index` (its number) and for `cluster`.
 */
export function resolveJobs(
  reader: SubmitReader,
  queue: QueueStatement,
  items: readonly string[] | undefined,
  place: SourceLine,
  isResolved: boolean,
): { jobs: SubmittedJob[]; total: number; template?: SubmittedJob } {
  const variables = items !== undefined && queue.variables.length === 0 ? ['Item'] : queue.variables;
  const selected = sliceItems(items ?? [''], queue.slice);
  const total = selected.length * queue.count;
  const jobs: SubmittedJob[] = [];
  const first = reader.nextProcess;
  reader.nextProcess += total;
  if (!isResolved) return { jobs, total };
  const resolved = reader.submission.queues.reduce((sum, one) => sum + one.jobs.length, 0);
  const wanted = resolved > maxResolved ? 1 : reader.maxJobs;
  try {
    let item = items === undefined ? {} : splitItem('', variables);
    for (let number = 0; number < Math.min(total, wanted); number++) {
      const row = selected[Math.floor(number / queue.count)];
      if (row === undefined) break;
      // A blank line leaves the variables as they are.
      if (row.item !== '') item = splitItem(row.item, variables);
      const step = number % queue.count;
      jobs.push(resolveJob(reader, { process: first + number, step, row: row.index, item }, place));
    }
    const names = items === undefined ? [] : variables;
    const template = expandJob(reader, markedValues(names, queue), markedItem(names));
    return { jobs, total, template: { process: 0, item: {}, ...template } };
  } catch (error) {
    if (!(error instanceof CircularMacro)) throw error;
    reader.stop(error.message, place);
    return { jobs, total };
  }
}

const markedItem = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, markedName(name)]));

/** Steps and rows are numbers of jobs only where there is nothing else to count. */
function markedValues(names: readonly string[], { count }: QueueStatement): Record<string, string> {
  const [cluster, index] = [markedName('cluster'), markedName('index')];
  return {
    cluster,
    clusterid: cluster,
    process: index,
    procid: index,
    jobid: `${cluster}.${index}`,
    step: names.length === 0 ? index : markedName('step'),
    row: count === 1 && names.length > 0 ? index : markedName('row'),
    itemindex: count === 1 && names.length > 0 ? index : markedName('row'),
    ...Object.fromEntries(names.map((name) => [name.toLowerCase(), markedName(name)])),
  };
}

interface JobPosition {
  process: number;
  step: number;
  row: number;
  item: Record<string, string>;
}

function resolveJob(reader: SubmitReader, position: JobPosition, place: SourceLine): SubmittedJob {
  const { process, item } = position;
  const noteChance = (): void => {
    const message = 'a value is chosen at random when the file is submitted; it was checked with one of them';
    if (!reader.submission.problems.some(({ kind }) => kind === 'chance'))
      reader.note('chance', message, place);
  };
  const live = liveValues(position, String(reader.context.cluster ?? 1));
  return { process, item, ...expandJob(reader, live, item, noteChance) };
}

/** Every command and attribute in force, with the values of one job. */
function expandJob(
  reader: SubmitReader,
  live: Readonly<Record<string, string>>,
  item: Readonly<Record<string, string>>,
  chosen?: () => void,
): Pick<SubmittedJob, 'commands' | 'attributes'> {
  const scope = reader.scope(live, chosen);
  const commands: Record<string, string> = {};
  const attributes: Record<string, string> = {};
  // A queue variable may itself be a command, as in `queue arguments from list.txt`.
  const items = Object.entries(item).map(([name, value]) => ({ ...targetOf(name), value }));
  for (const { command, attribute, value } of [...reader.macros.values(), ...items]) {
    if (attribute !== undefined) attributes[attribute] = expandMacros(value, scope);
    else if (command !== undefined) commands[command] = expandMacros(value, scope);
  }
  return { commands, attributes };
}

function liveValues({ process, step, row, item }: JobPosition, cluster: string): Record<string, string> {
  const live: Record<string, string> = {
    cluster,
    clusterid: cluster,
    process: String(process),
    procid: String(process),
    jobid: `${cluster}.${process}`,
    step: String(step),
    row: String(row),
    itemindex: String(row),
  };
  for (const [name, value] of Object.entries(item)) live[name.toLowerCase()] = value;
  return live;
}

/** The items that a slice `[start:end:step]` selects, with their index among all of them. */
function sliceItems(items: readonly string[], slice: Slice | undefined): { index: number; item: string }[] {
  const { start = 0, end = items.length, step = 1 } = slice ?? {};
  const from = start < 0 ? start + items.length : start;
  const until = end < 0 ? end + items.length : end;
  return items
    .map((item, index) => ({ index, item }))
    .filter(
      ({ index }) => index >= from && index < until && (index - from) % Math.max(1, Math.abs(step)) === 0,
    );
}

/** Splits an item over its variables: at commas or blanks, or at byte 0x1F if present; the last takes the rest. */
function splitItem(item: string, variables: readonly string[]): Record<string, string> {
  const separator = item.includes('\x1f') ? /\x1f/ : /[, \t]/;
  const trim = (text: string): string => text.trim();
  const values: Record<string, string> = {};
  let rest = trim(item);
  for (const [index, name] of variables.entries()) {
    const cut = index === variables.length - 1 ? -1 : rest.search(separator);
    values[name] = cut < 0 ? rest : trim(rest.slice(0, cut));
    rest = cut < 0 ? '' : trim(rest.slice(cut + 1));
  }
  return values;
}

export interface Slice {
  start?: number;
  end?: number;
  step?: number;
}

export type ItemSource =
  | { kind: 'none' }
  /** Literal items, one per job, still to be split into the variables. */
  | { kind: 'items'; items: string[] }
  /** The list continues on the next lines, up to one that starts with `)`. */
  | { kind: 'inline'; items: string[]; perLine: boolean }
  | { kind: 'file'; name: string }
  /** A file whose first line names the variables; without a name, one with options that only HTCondor reads. */
  | { kind: 'table'; name: string | undefined }
  | { kind: 'command'; command: string }
  | { kind: 'matching'; patterns: string[]; of: 'files' | 'dirs' | 'any' };

/** `queue [count] [variables] [in|from|matching …]`, before its items are known. */
export interface QueueStatement {
  count: number;
  variables: string[];
  slice?: Slice;
  source: ItemSource;
}

/** Thrown for a queue statement that HTCondor refuses; the message is the reason. */
export class BadQueue extends Error {}

/** The rest of a line that is a queue statement; undefined for every other line. */
export const queueArguments = (line: string): string | undefined =>
  /^queue(?:\s+(.*))?$/is.exec(line)?.[1] ?? (/^queue$/i.test(line) ? '' : undefined);

/** Reads what follows the word `queue`; macros are already expanded. */
export function parseQueue(text: string): QueueStatement {
  const keyword = /(?:^|[\s,)])(in|from|matching)(?=[\s([]|$)/i.exec(text);
  if (keyword === null) return { count: countOf(text), variables: [], source: { kind: 'none' } };
  const at = keyword.index + keyword[0].length;
  const { count, variables } = beforeKeyword(text.slice(0, at - (keyword[1] ?? '').length));
  const { rest, slice, of } = qualifiers(text.slice(at), keyword[1]?.toLowerCase() === 'matching');
  const source = sourceOf(keyword[1]?.toLowerCase() ?? '', rest, of);
  return { count, variables, ...defined({ slice }), source };
}

function countOf(text: string): number {
  if (text.trim() === '') return 1;
  const value = evaluateNumber(text);
  if (value === undefined) throw new BadQueue(`"${text.trim()}" is not a number of jobs`);
  if (value < 0 || value >= 2 ** 31) throw new BadQueue(`${value} jobs are out of range`);
  return Math.trunc(value);
}

/** Max characters of a queue statement before its list. */
const maxVariables = 4096;

/** The variables are the names at the end of the text; a count may precede them. */
function beforeKeyword(text: string): { count: number; variables: string[] } {
  if (text.length > maxVariables) throw new BadQueue('it has more variables than HTCondor could use');
  const names = /(?:^|[\s,)])([A-Za-z_][\w.]*(?:[\s,]+[A-Za-z_][\w.]*)*)[\s,]*$/.exec(text);
  if (names === null) return { count: countOf(text), variables: [] };
  const at = names.index + names[0].indexOf(names[1] ?? '');
  return { count: countOf(text.slice(0, at)), variables: (names[1] ?? '').split(/[\s,]+/) };
}

function qualifiers(
  text: string,
  matching: boolean,
): { rest: string; slice?: Slice; of: 'files' | 'dirs' | 'any' } {
  let [rest, of]: [string, 'files' | 'dirs' | 'any'] = [text.trim(), 'any'];
  let slice: Slice | undefined;
  for (;;) {
    const word = /^(files|dirs|any)(?=\s|\[|$)\s*/i.exec(rest);
    const range = /^\[\s*(-?\d*)\s*(?::\s*(-?\d*)\s*)?(?::\s*(-?\d*)\s*)?\]\s*/.exec(rest);
    if (word !== null && matching) of = (word[1] ?? 'any').toLowerCase() as typeof of;
    else if (range !== null) slice = sliceOf(range);
    else return { rest, of, ...defined({ slice }) };
    rest = rest.slice((word ?? range)?.[0].length);
  }
}

function sliceOf([, start = '', end, step]: RegExpExecArray): Slice {
  const slice: Slice = {};
  if (start !== '') slice.start = Number(start);
  if ((end ?? '') !== '') slice.end = Number(end);
  if ((step ?? '') !== '') slice.step = Number(step);
  return slice;
}

function sourceOf(keyword: string, rest: string, of: 'files' | 'dirs' | 'any'): ItemSource {
  const perLine = keyword === 'from';
  const closed = /^\((.*)\)$/s.exec(rest);
  if (rest.startsWith('(') && closed === null) {
    const first = rest.slice(1).trim();
    return { kind: 'inline', perLine, items: itemsOf(first, perLine) };
  }
  const list = (closed?.[1] ?? rest).trim();
  if (keyword === 'matching') return { kind: 'matching', of, patterns: itemsOf(list, false) };
  if (keyword === 'in' || closed !== null) return { kind: 'items', items: itemsOf(list, perLine) };
  const table = /^table(?=[\s([])\s*(.*)$/is.exec(list)?.[1];
  if (table !== undefined) return { kind: 'table', name: /^[([]/.test(table) ? undefined : table };
  if (list === '') throw new BadQueue('`from` names no file');
  if (list.endsWith('|')) return { kind: 'command', command: list.slice(0, -1).trim() };
  return { kind: 'file', name: list };
}

/** One line of a list: one item after `from`, else one per word. */
export function itemsOf(line: string, perLine: boolean): string[] {
  if (perLine) return line === '' ? [] : [line];
  return line.split(/[\s,]+/).filter((item) => item !== '');
}
