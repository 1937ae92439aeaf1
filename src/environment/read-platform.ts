import { compareVersions } from './conda-version.ts';
import type { ManifestPlatform } from './pixi-manifest.ts';

type Table = Record<string, unknown>;

/** Keys by which a platform says what it has, in the order in which Pixi makes a name of them. */
const keys: Record<string, string> = {
  cuda: '__cuda',
  archspec: '__archspec',
  glibc: '__glibc',
  linux: '__linux',
  macos: '__osx',
  windows: '__win',
};

/** What Pixi takes for granted, and leaves out of names. */
const usual: Record<string, string> = { __glibc: '2.28', __linux: '4.18', __osx: '13.0' };

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;

/** A platform of a manifest: a name, or since pixi 0.71 a table that says what the platform has. */
export function readPlatform(value: unknown): ManifestPlatform {
  if (typeof value !== 'object' || value === null)
    return { name: String(value), subdir: String(value), virtual: {} };
  const table = value as Table;
  const subdir = textOf(table['platform']) ?? textOf(table['name']) ?? '';
  const virtual = virtualOf(table);
  return { name: textOf(table['name']) ?? derivedName(subdir, virtual), subdir, virtual };
}

/** The virtual packages of a platform's table. CUDA may be a version, or a table of the driver's and the card's. */
function virtualOf(table: Table): Record<string, string> {
  const cuda = table['cuda'];
  const { driver, arch } = typeof cuda === 'object' && cuda !== null ? (cuda as Table) : { driver: cuda };
  const flat: Table = { ...table, cuda: driver, __cuda_arch: table['__cuda_arch'] ?? arch };
  flat['macos'] ??= table['osx'];
  const pairs = Object.entries(flat).flatMap(([key, value]): [string, string][] => {
    const [name, text] = [key.startsWith('__') ? key : keys[key], textOf(value)];
    return name === undefined || text === undefined ? [] : [[name, text]];
  });
  return Object.fromEntries(pairs);
}

/** What Pixi calls a platform that has no name: `linux-64-cuda-12-0`. */
function derivedName(subdir: string, virtual: Record<string, string>): string {
  const known = new Set(Object.values(keys));
  const others = Object.keys(virtual).filter((name) => !known.has(name));
  const inOrder = [...Object.entries(keys), ...others.sort().map((name) => [name, name] as const)];
  const parts = inOrder.flatMap(([key, name]) => {
    const value = virtual[name];
    const asUsual = usual[name];
    const isUsual = asUsual !== undefined && compareVersions(value ?? asUsual, asUsual) === 0;
    return value === undefined || isUsual ? [] : [inName(key), inName(value)];
  });
  return [subdir, ...parts].join('-');
}

const inName = (text: string): string => text.replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-|-$/g, '');
