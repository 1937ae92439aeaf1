import { readToml } from './read-toml.ts';
import { problemAt, type TextPosition, type SourceFile } from './source-file.ts';

/** Values from outside the job file that override it. */
export interface Layer {
  /** For messages: a file's path, or the command line's option. */
  file: string;
  text: string;
}

type Table = Record<string, unknown>;
const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

/** `key=value` of a command line as a layer: the value is TOML if it parses, and a string otherwise. */
export function layerOfSetting(setting: string): Layer {
  const file = `--set ${setting}`;
  const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(setting) ?? [];
  const text = `${key} = ${value}`;
  const isToml = value !== '' && readToml(text, file).problems.length === 0;
  return { file, text: isToml ? text : `${key} = ${JSON.stringify(value)}` };
}

/**
 * One source over another: removes what `without` names, merges tables, and replaces everything else. Each value keeps
 * its own place.
 */
export function overlay(base: SourceFile, over: SourceFile): SourceFile {
  const places = new Map(base.places);
  const from = (place: TextPosition): TextPosition => ({ ...place, file: over.file });
  for (const [key, { key: name, value }] of over.places)
    places.set(key, { key: from(name), value: from(value) });
  const problems = [...base.problems, ...over.problems];
  if (!isTable(base.value) || !isTable(over.value))
    return { file: base.file, value: undefined, places, problems };
  const { without = [], ...rest } = over.value;
  const left = structuredClone(base.value);
  for (const [index, key] of (Array.isArray(without) ? without : [without]).entries())
    if (!removeKey(left, String(key))) {
      const message =
        `${base.file} has no "${String(key)}" to remove; ` +
        'expected a list of its keys, like ["environment.image"]';
      problems.push(problemAt(over, ['without', index], message));
    }
  return { file: base.file, value: merge(left, rest), places, problems };
}

/** Removes what a dotted key names; false if there is no such key. */
function removeKey(table: Table, key: string): boolean {
  const [, first = key, rest] = /^([^.]+)\.(.+)$/s.exec(key) ?? [];
  if (!Object.hasOwn(table, first)) return false;
  const inner = table[first];
  if (rest !== undefined) return isTable(inner) && removeKey(inner, rest);
  return Reflect.deleteProperty(table, first);
}

function merge(base: unknown, over: unknown): unknown {
  if (!isTable(base) || !isTable(over)) return over;
  const merged: Table = { ...base };
  for (const [key, value] of Object.entries(over))
    merged[key] = Object.hasOwn(base, key) ? merge(base[key], value) : value;
  return merged;
}
