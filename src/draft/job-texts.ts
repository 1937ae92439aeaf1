import { isReserved, listJobs } from '../job/expand.ts';
import { shellQuote } from '@updraft/base';
import { markedName, type SubmittedJob, type SubmittedQueue } from '@updraft/htcondor/submit';
import type { Matrix } from '../job/matrix.ts';
import { anyCluster } from '../preflight/survey-file.ts';

/** A piece of a text: literal, or a name whose value differs between jobs. */
type Piece = { literal: string } | { name: string };
export type JobText = readonly Piece[];

const marks = new RegExp(markedName('(\\w[\\w.]*)'), 'g');

function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(marks)) {
    pieces.push({ literal: text.slice(at, match.index) }, { name: match[1] ?? '' });
    at = match.index + match[0].length;
  }
  return [...pieces, { literal: text.slice(at) }].filter(
    (piece) => !('literal' in piece) || piece.literal !== '',
  );
}

/** The value that a name stands for in a job. */
function valueIn({ item, process }: SubmittedJob, name: string): string | undefined {
  if (name === 'index') return String(process);
  return name === 'cluster' ? String(anyCluster) : item[name];
}

const filled = (text: JobText, job: SubmittedJob): string =>
  text.map((piece) => ('literal' in piece ? piece.literal : (valueIn(job, piece.name) ?? '\0'))).join('');

/**
 * Texts of all jobs as texts with names in them. Undefined if that does not give each job its own, because a macro
 * function changes a value, or the jobs differ in more.
 */
export function textsOfJobs(
  { jobs, template }: Pick<SubmittedQueue, 'jobs' | 'template'>,
  textsOf: (job: SubmittedJob) => readonly string[],
): JobText[] | undefined {
  const [first] = jobs;
  if (first === undefined) return undefined;
  const same = (texts: readonly string[], job: SubmittedJob): boolean =>
    JSON.stringify(texts) === JSON.stringify(textsOf(job));
  const wanted = (template === undefined ? textsOf(first) : textsOf(template)).map(piecesOf);
  if (
    jobs.every((job) =>
      same(
        wanted.map((text) => filled(text, job)),
        job,
      ),
    )
  )
    return wanted;
  const plain = textsOf(first);
  if (markedNames(wanted).includes('cluster')) return undefined;
  return jobs.every((job) => same(plain, job)) ? plain.map((text) => [{ literal: text }]) : undefined;
}

export const markedNames = (texts: readonly JobText[]): string[] => [
  ...new Set(texts.flat().flatMap((piece) => ('name' in piece ? piece.name : []))),
];

const escaped = (literal: string): string => literal.replaceAll(/[{}]/g, '$&$&');

/** The parameter of a job file for a variable of a queue statement: some names are taken. */
const parameterOf = (name: string): string =>
  isReserved(name) && name !== 'index' ? `${name}_item` : name.replaceAll('.', '_');

/** A text as a value of a job file. */
export const asTemplate = (text: JobText): string =>
  text.map((piece) => ('name' in piece ? `{${parameterOf(piece.name)}}` : escaped(piece.literal))).join('');

/** A text as a word of the command, which knows the run's name. */
export const asWord = (text: JobText): string =>
  text.length === 0
    ? "''"
    : text
        .map((piece) => {
          if ('literal' in piece) return escaped(shellQuote(piece.literal));
          return piece.name === 'cluster' ? '"$UPDRAFT_RUN"' : `{${parameterOf(piece.name)}}`;
        })
        .join('');

/** A word of one job as a text. */
export const wordText = (word: string): JobText =>
  piecesOf(word.replaceAll(String(anyCluster), markedName('cluster')));

/** The same word with the values of one job. */
export const asWordFor = (job: SubmittedJob, text: JobText): string =>
  text
    .map((piece) => {
      if ('literal' in piece) return shellQuote(piece.literal);
      return piece.name === 'cluster' ? '"$UPDRAFT_RUN"' : shellQuote(valueIn(job, piece.name) ?? '');
    })
    .join('') || "''";

/** The matrix that makes exactly these jobs, in their order if they use their number; undefined if there is none. */
export function matrixOf(
  jobs: readonly SubmittedJob[],
  used: readonly string[],
): Record<string, string[]> | undefined {
  const names = used.filter((name) => name !== 'index' && name !== 'cluster');
  const values = (name: string): string[] => [...new Set(jobs.map(({ item }) => item[name] ?? ''))];
  const matrix = Object.fromEntries(names.map((name) => [name, values(name)]));
  const size = names.reduce((product, name) => product * (matrix[name]?.length ?? 1), 1);
  if (size > jobs.length) return undefined;
  const keyOf = (item: Record<string, unknown>): string => JSON.stringify(names.map((name) => item[name]));
  const rows = jobs.map(({ item }) => keyOf(item));
  if (new Set(rows).size !== size) return undefined;
  const copies = jobs.length / size;
  const made = listJobs({ jobs: copies, matrix }).map(({ parameters }) => keyOf(parameters));
  if (used.includes('index') && rows.join() !== made.join()) return undefined;
  return Object.fromEntries(names.map((name) => [parameterOf(name), matrix[name] ?? []]));
}

/** The matrix of jobs whose items are unknown; those of several variables belong together. */
export function openMatrix(names: readonly string[]): Matrix {
  const row = Object.fromEntries(names.map((name) => [name, 'FILL IN']));
  return names.length > 1
    ? { [names.join('_')]: [row] }
    : Object.fromEntries(names.map((name) => [name, ['FILL IN']]));
}
