/**
 * Validates external values in the agent, where a schema library would be bigger than the agent. A field returns the
 * checked value, or `Mismatch`.
 */
export type Field<T> = (value: unknown) => T | Mismatch;

/** One field for every key of T; optional keys need `optional`. */
export type Fields<T> = { [K in keyof T]-?: Field<T[K] | (object extends Pick<T, K> ? undefined : never)> };

/** What was expected, and what was found instead. */
export class Mismatch {
  readonly what: string;
  readonly value: unknown;
  readonly path: string;

  constructor(what: string, value: unknown, path = '') {
    this.what = what;
    this.value = value;
    this.path = path;
  }

  below(step: string): Mismatch {
    return new Mismatch(
      this.what,
      this.value,
      /^$|^\[/.test(this.path) ? step + this.path : `${step}.${this.path}`,
    );
  }

  /** `whole` names the value that was checked. */
  describe(whole: string): string {
    const shown = this.value === undefined ? 'nothing' : JSON.stringify(this.value).slice(0, 80);
    return `\`${this.path || whole}\` must be ${this.what}, not ${shown}`;
  }
}

export const field =
  <T>(what: string, accepts: (value: unknown) => boolean): Field<T> =>
  (value) =>
    accepts(value) ? (value as T) : new Mismatch(what, value);

export const text = field<string>('a text', (value) => typeof value === 'string');
export const bool = field<boolean>('true or false', (value) => typeof value === 'boolean');

export const oneOf = <const T>(values: readonly T[]): Field<T> =>
  field(`one of ${values.join(', ')}`, (value) => values.includes(value as T));

export const optional =
  <T>(read: Field<T>): Field<T | undefined> =>
  (value) =>
    value === undefined ? undefined : read(value);

export const nullable =
  <T>(read: Field<T>): Field<T | null> =>
  (value) =>
    value === null ? null : read(value);

export const listOf =
  <T>(read: Field<T>): Field<T[]> =>
  (value) => {
    if (!Array.isArray(value)) return new Mismatch('a list', value);
    const items = value.map(read);
    const index = items.findIndex((item) => item instanceof Mismatch);
    return index < 0 ? (items as T[]) : (items[index] as Mismatch).below(`[${index}]`);
  };

export const recordOf =
  <T>(read: Field<T>): Field<Record<string, T>> =>
  (value) =>
    isTable(value) ? readAll(value, Object.keys(value), () => read) : new Mismatch('a table', value);

/** A table with these fields; others, which a later version may have written, are kept. */
export function shape<T>(fields: Fields<T>): Field<T> {
  const names = Object.keys(fields);
  const of = (name: string): Field<unknown> => fields[name as keyof T];
  return (value) =>
    isTable(value) ? (readAll(value, names, of) as T | Mismatch) : new Mismatch('a table', value);
}

export const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The table that a text in JSON is; undefined if it is none. */
export function jsonTable(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isTable(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function readAll<T>(
  value: object,
  names: readonly string[],
  fieldOf: (name: string) => Field<T>,
): Record<string, T> | Mismatch {
  const copy: Record<string, unknown> = { ...value };
  for (const name of names) {
    const read = fieldOf(name)(copy[name]);
    if (read instanceof Mismatch) return read.below(name);
    if (read !== undefined) copy[name] = read;
  }
  return copy as Record<string, T>;
}
