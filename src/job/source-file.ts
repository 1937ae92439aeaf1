import { isTable, shellQuote } from '@updraft/base';
import { Fault } from '@updraft/account/fault';

/** A place in the user's file; line and column start at 1. */
export interface TextPosition {
  line: number;
  column: number;
  /** Set if it is not the job file itself. */
  file?: string;
}

/** Keys and list positions from the top of the file down to a value. */
export type KeyPath = readonly PropertyKey[];

/** Something wrong with the user's file, and where. */
export interface SpecProblem extends TextPosition {
  file: string;
  /** Dotted, such as `train.outputs[0]`; empty for the file as a whole. */
  key: string;
  /** What is wrong, what was expected, and the nearest valid key where there is one. */
  message: string;
}

/** The file's raw values, and where each key and value was written. */
export interface SourceFile {
  file: string;
  value: unknown;
  /** `text`: a number as it was written. */
  places: Map<string, { key: TextPosition; value: TextPosition; text?: string | undefined }>;
  /** Syntax errors; `value` is undefined if nothing could be read. */
  problems: SpecProblem[];
}

export const placeKey = (path: KeyPath): string => JSON.stringify(path.map(String));

/** `train.outputs[0]`. */
export function showKey(path: KeyPath): string {
  let shown = '';
  for (const part of path)
    if (typeof part === 'number') shown += `[${part}]`;
    else shown += `${shown === '' ? '' : '.'}${bareOrQuoted(String(part))}`;
  return shown;
}

const bareOrQuoted = (part: string): string => (/^[\w-]+$/.test(part) ? part : JSON.stringify(part));

/** A problem of the value at `path`, or, if that is absent, of the nearest table that should contain it. */
export function problemAt(source: SourceFile, path: KeyPath, message: string): SpecProblem {
  return { file: source.file, ...valuePlace(source, path), key: showKey(path), message };
}

/** A problem of the key itself, such as an unknown one. */
export function problemAtKey(source: SourceFile, path: KeyPath, message: string): SpecProblem {
  const place = source.places.get(placeKey(path))?.key ?? valuePlace(source, path);
  return { file: source.file, ...place, key: showKey(path), message };
}

function valuePlace(source: SourceFile, path: KeyPath): TextPosition {
  const exact = source.places.get(placeKey(path));
  if (exact !== undefined) return exact.value;
  for (let length = path.length - 1; length > 0; length--) {
    const table = source.places.get(placeKey(path.slice(0, length)));
    if (table !== undefined) return table.key;
  }
  return { line: 1, column: 1 };
}

/** Every problem of a file, in one fault; of a job file, unless `fix` says what to do. */
export class SpecFault extends Fault {
  readonly problems: readonly SpecProblem[];

  constructor(problems: readonly SpecProblem[], fix?: string) {
    const file = problems[0]?.file ?? '';
    const lines = problems.map(showProblem).join('\n');
    super(
      'file-invalid',
      problems.length === 1 ? lines : `${problems.length} problems in ${file}\n${lines}`,
      {
        about: file,
        fix:
          fix ??
          (file.startsWith('--')
            ? 'write KEY=VALUE with a key of the job file (`updraft docs job-file`), such as run.jobs=10 or ' +
              "train.command='python3 train.py --lr 0.1'; for several values of an argument, a matrix"
            : `edit ${problems.length === 1 ? `line ${problems[0]?.line}` : 'these lines'}, ` +
              `then run: updraft check ${shellQuote(file)}`),
      },
    );
    this.problems = problems;
  }
}

function showProblem(problem: SpecProblem): string {
  const key = problem.key === '' ? '' : `${problem.key}: `;
  return `${problem.file}:${problem.line}:${problem.column}: ${key}${problem.message}`;
}

type Table = Record<string, unknown>;

export const valueAt = (value: unknown, path: KeyPath): unknown =>
  path.reduce<unknown>((inner, key) => {
    if (Array.isArray(inner)) return inner[Number(key)] as unknown;
    return isTable(inner) && Object.hasOwn(inner, key) ? inner[String(key)] : undefined;
  }, value);

/** Where numbers become texts of a command, and what they are is the training's affair. */
const textKeys: readonly KeyPath[] = [
  ['run', 'matrix'],
  ['train', 'env'],
];

/** The file with numbers as they were written, where JavaScript would write others: `0.0`, `1e-05`, or more digits. */
export function withWritten(source: SourceFile): SourceFile {
  const written = (value: number, text = String(value)): string | number => {
    const plain = text.replaceAll('_', '').replace(/^\+/, '');
    const isOther = plain !== String(value) && !(/^-?0[box]/.test(plain) && Number.isSafeInteger(value));
    return isOther && Number.isFinite(value) ? plain : value;
  };
  const change = (table: Table | unknown[], path: KeyPath): void => {
    for (const [key, inner] of Object.entries(table)) {
      const at = [...path, key];
      if (typeof inner === 'object' && inner !== null) change(inner as Table, at);
      else if (typeof inner === 'number')
        (table as Table)[key] = written(inner, source.places.get(placeKey(at))?.text);
    }
  };
  for (const path of textKeys) {
    const table = valueAt(source.value, path);
    if (isTable(table)) change(table, path);
  }
  return source;
}

/** The entries of the table at a path; none if it is not a table. */
export function entriesAt(value: unknown, path: KeyPath): [string, unknown][] {
  const table = valueAt(value, path);
  return isTable(table) ? Object.entries(table) : [];
}

/** The problems that are found in a file; what they are about is named by the steps to it from the file's top. */
export class FileProblems {
  readonly found: SpecProblem[] = [];
  readonly #source: SourceFile;

  constructor(source: SourceFile) {
    this.#source = source;
  }

  get(...at: KeyPath): unknown {
    return valueAt(this.#source.value, at);
  }

  has(...at: KeyPath): boolean {
    return this.get(...at) !== undefined;
  }

  /** The keys of the table there. */
  keys(...at: KeyPath): string[] {
    return entriesAt(this.#source.value, at).map(([key]) => key);
  }

  /** The strings in the list there, each with its own path. */
  texts(...at: KeyPath): [KeyPath, string][] {
    const list = this.get(...at);
    return (Array.isArray(list) ? (list as unknown[]) : []).flatMap((item, index): [KeyPath, string][] =>
      typeof item === 'string' ? [[[...at, index], item]] : [],
    );
  }

  /** Something is wrong with a value. */
  say(message: string, ...at: KeyPath): void {
    this.found.push(problemAt(this.#source, at, message));
  }

  /** Something is wrong with a key, whatever its value. */
  sayOfKey(message: string, ...at: KeyPath): void {
    this.found.push(problemAtKey(this.#source, at, message));
  }
}
