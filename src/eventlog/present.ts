type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The object without the keys whose value is undefined. */
export function present<T extends object>(value: T): Present<T> {
  const kept = {} as T;
  for (const key in value) if (value[key] !== undefined) kept[key] = value[key];
  return kept;
}
