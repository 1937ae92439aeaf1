/** The fields of T; those that may be undefined are optional instead. */
export type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The fields without those that are undefined: an optional field is absent, never `undefined`. */
export function defined<T extends object>(fields: T): Defined<T> {
  const kept = {} as T;
  for (const key in fields) if (fields[key] !== undefined) kept[key] = fields[key];
  return kept;
}

/** A list of the parts that are there: what is `false` or `undefined` is left out. */
export const given = <T>(...parts: readonly (T | false | undefined)[]): T[] =>
  parts.filter(
    (part): part is Exclude<typeof part, false | undefined> => part !== false && part !== undefined,
  );
