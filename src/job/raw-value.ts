import type { KeyPath } from './source-file.ts';

type Table = Record<string, unknown>;

const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What stands at a path of values that nobody has checked yet. */
export const valueAt = (value: unknown, path: KeyPath): unknown =>
  path.reduce<unknown>((inner, key) => {
    if (Array.isArray(inner)) return inner[Number(key)] as unknown;
    return isTable(inner) && Object.hasOwn(inner, key) ? inner[String(key)] : undefined;
  }, value);

/** The entries of the table at a path; none when it is no table. */
export function entriesAt(value: unknown, path: KeyPath): [string, unknown][] {
  const table = valueAt(value, path);
  return isTable(table) ? Object.entries(table) : [];
}

/** The texts in the list at a path, each with its own path. */
export function textsAt(value: unknown, path: KeyPath): [KeyPath, string][] {
  const list = valueAt(value, path);
  return (Array.isArray(list) ? (list as unknown[]) : []).flatMap((item, index): [KeyPath, string][] =>
    typeof item === 'string' ? [[[...path, index], item]] : [],
  );
}
