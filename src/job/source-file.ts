/** A place in the user's file, both from 1. */
export interface Place {
  line: number;
  column: number;
  /** Where it is another file than the job file. */
  file?: string;
}

/** Keys and list positions from the top of the file down to a value. */
export type KeyPath = readonly PropertyKey[];

/** Something wrong with the user's file, and where. */
export interface SpecProblem extends Place {
  file: string;
  /** Dotted, such as `train.outputs[0]`; empty when the file as a whole is meant. */
  key: string;
  /** What is wrong, what was expected, and the nearest valid key where there is one. */
  message: string;
}

/** The file's values as they stand, and where each key and value was written. */
export interface SourceFile {
  file: string;
  value: unknown;
  places: Map<string, { key: Place; value: Place }>;
  /** What the syntax itself gets wrong; `value` is undefined when nothing could be read. */
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

/** A problem of the value at `path`, or, where that is absent, of the nearest table that should hold it. */
export function problemAt(source: SourceFile, path: KeyPath, message: string): SpecProblem {
  return { file: source.file, ...valuePlace(source, path), key: showKey(path), message };
}

/** A problem of the key itself, such as one that nobody knows. */
export function problemAtKey(source: SourceFile, path: KeyPath, message: string): SpecProblem {
  const place = source.places.get(placeKey(path))?.key ?? valuePlace(source, path);
  return { file: source.file, ...place, key: showKey(path), message };
}

function valuePlace(source: SourceFile, path: KeyPath): Place {
  const exact = source.places.get(placeKey(path));
  if (exact !== undefined) return exact.value;
  for (let length = path.length - 1; length > 0; length--) {
    const table = source.places.get(placeKey(path.slice(0, length)));
    if (table !== undefined) return table.key;
  }
  return { line: 1, column: 1 };
}
