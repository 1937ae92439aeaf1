import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { isTable, nearest } from '@updraft/base';
import { Fault } from '../fault/fault.ts';
import { type LockedPackage, lockedPackage } from './locked-package.ts';

/** Loaded only when needed: its 72 files take longer than a small command. */
export const yaml = (): typeof Yaml =>
  // oxlint-disable-next-line typescript/no-require-imports -- Bun bundles only what is required so
  (typeof require === 'undefined' ? createRequire(import.meta.url)('yaml') : require('yaml')) as typeof Yaml;

/** A platform in a lock. Since version 7, several can share a subdir, such as with and without CUDA. */
export interface LockedPlatform {
  name: string;
  /** Its name in the lock, if it differs from the manifest's. */
  inLock?: string;
  /** `linux-64` */
  subdir: string;
  /** Virtual packages it was solved for, like `__cuda=12.0`. */
  virtual: string[];
}

/** The version of a virtual package that a platform was locked for; for a processor its name (`__archspec=0=x86_64_v3`). */
export const lockedVirtual = ({ virtual }: LockedPlatform, name: string): string | undefined =>
  virtual
    .map((one) => one.split('='))
    .find(([first]) => first === name)
    ?.slice(name === '__archspec' ? 2 : 1)
    .find((part) => part !== '');

interface LockedEnvironment {
  channels: string[];
  platforms: (LockedPlatform & { packages: Record<string, unknown>[] })[];
}

export interface PixiLock {
  file: string;
  version: number;
  environments: Map<string, LockedEnvironment>;
  packagesOf: (listed: Record<string, unknown>[]) => LockedPackage[];
}

/** One environment of a lock on one platform. */
export interface LockedSet {
  environment: string;
  platform: LockedPlatform;
  channels: string[];
  packages: LockedPackage[];
}

/** Selects an environment on a platform (by name or subdir); throws with the closest name if there is none. */
export function selectLocked(lock: PixiLock, environment: string, platform: string): LockedSet {
  const found = lock.environments.get(environment);
  if (found === undefined) throw absent(lock.file, 'environment', environment, [...lock.environments.keys()]);
  const names = found.platforms.map(({ name }) => name);
  const one = found.platforms.find(({ name }) => name === platform) ?? onlyOf(lock.file, found, platform);
  if (one === undefined)
    throw absent(lock.file, 'platform', platform, names, ` for the environment "${environment}"`);
  const { packages, ...rest } = one;
  return { environment, platform: rest, channels: found.channels, packages: lock.packagesOf(packages) };
}

/** The platform with that subdir, unless there are several. */
function onlyOf(
  file: string,
  { platforms }: LockedEnvironment,
  subdir: string,
): LockedEnvironment['platforms'][number] | undefined {
  const [first, second] = platforms.filter((one) => one.subdir === subdir);
  if (first === undefined || second === undefined) return first;
  throw new Fault('file-invalid', `${file}: "${subdir}" is ambiguous: ${first.name} or ${second.name}`, {
    about: file,
    fix: `choose one: platform = "${first.name}" in [environment], or --platform ${first.name}`,
  });
}

function absent(file: string, what: string, name: string, known: string[], where = ''): Fault {
  const close = nearest(name, known);
  const meant = close === undefined ? '' : `; did you mean "${close}"?`;
  return new Fault('file-invalid', `${file}: there is no ${what} "${name}"${where}${meant}`, {
    about: file,
    fix:
      known.length === 0
        ? 'update the lock with: updraft env lock'
        : `the lock has ${known.join(', ')}; add it to the manifest and run: updraft env lock`,
  });
}

/** Supported format versions. */
const versions = [6, 7];

type Table = Record<string, unknown>;
const listOf = (value: unknown): Table[] => (Array.isArray(value) ? value.filter(isTable) : []);

/** Reads a `pixi.lock`; `file` is its name for messages. */
export function readLock(text: string, file: string): PixiLock {
  refuseConflict(text, file);
  const { head, packages } = divide(text);
  const value = parseYaml(head, file, 0);
  if (!isTable(value) || !('version' in value)) throw broken(file, 'it has no `version`');
  const version = Number(value['version']);
  if (!versions.includes(version)) throw otherVersion(file, version);
  if (!isTable(value['environments'])) throw broken(file, 'it has no `environments`');
  const platforms = listOf(value['platforms']).map(platformOf);
  const environments = Object.entries(value['environments']).map(
    ([name, one]): [string, LockedEnvironment] => [name, environmentOf(isTable(one) ? one : {}, platforms)],
  );
  return {
    file,
    version,
    environments: new Map(environments),
    packagesOf: (wanted) => lookUp(wanted, packages, listOf(value['packages']), file),
  };
}

/**
 * Packages make up most of a lock, few of them are needed, and YAML is slow to parse: the list is split into items by
 * their first lines, and only the needed ones are parsed.
 */
function divide(text: string): { head: string; packages: Map<string, { text: string; line: number }> } {
  const start = /^packages:[ \t]*\r?\n(?=- )/m.exec(text);
  const packages = new Map<string, { text: string; line: number }>();
  if (start === null) return { head: text, packages };
  const from = start.index + start[0].length;
  const head = text.slice(0, start.index);
  let line = text.slice(0, from).split('\n').length - 1;
  for (const item of text.slice(from).split(/^(?=- )/m)) {
    const key = /^- (\w+: .*?)\s*$/m.exec(item)?.[1];
    if (key !== undefined) packages.set(key.replaceAll(/['"]/g, ''), { text: item, line });
    line += item.split('\n').length - 1;
  }
  return { head, packages };
}

/** With merge markers, only half of the lock would be read. */
function refuseConflict(text: string, file: string): void {
  const mark = /^(?:<{7}|>{7}) .*$/m.exec(text);
  if (mark === null) return;
  const line = text.slice(0, mark.index).split('\n').length;
  throw new Fault('file-invalid', `${file}:${line}: unresolved merge conflict: ${mark[0].slice(0, 60)}`, {
    about: file,
    fix: 'take the lock of either side (git checkout --ours or --theirs), then update it with: updraft env lock',
  });
}

function parseYaml(text: string, file: string, line: number): unknown {
  try {
    return yaml().parse(text, { logLevel: 'error', maxAliasCount: 0 });
  } catch (error) {
    const at = error instanceof yaml().YAMLParseError ? error.linePos?.[0].line : undefined;
    const where = at === undefined ? file : `${file}:${at + line}`;
    const [reason = ''] = (error as Error).message.split('\n');
    throw new Fault('file-invalid', `${where}: not valid YAML: ${reason}`, {
      about: file,
      fix: lockFix,
      cause: error,
    });
  }
}

const lockFix = 'do not edit a lock by hand; recreate it with: updraft env lock';

const broken = (file: string, what: string): Fault =>
  new Fault('file-invalid', `${file}: not a valid pixi.lock: ${what}`, { about: file, fix: lockFix });

function otherVersion(file: string, version: number): Fault {
  const newer = version > Math.max(...versions);
  return new Fault(
    'file-invalid',
    `${file}: format version ${version} is ${newer ? 'newer' : 'older'} than the supported ones (${versions.join(', ')})`,
    {
      about: file,
      fix: newer
        ? 'create it with an older pixi, or use a newer updraft'
        : 'recreate it with a newer pixi: updraft env lock',
    },
  );
}

function platformOf(table: Table): LockedPlatform {
  const name = String(table['name']);
  const virtual = table['virtual-packages'];
  return {
    name,
    subdir: typeof table['subdir'] === 'string' ? table['subdir'] : name,
    virtual: Array.isArray(virtual) ? virtual.map(String) : [],
  };
}

function environmentOf(table: Table, platforms: LockedPlatform[]): LockedEnvironment {
  const packages = isTable(table['packages']) ? table['packages'] : {};
  return {
    channels: listOf(table['channels']).map(({ url }) => String(url)),
    platforms: Object.entries(packages).map(([name, list]) => ({
      ...(platforms.find((one) => one.name === name) ?? { name, subdir: name, virtual: [] }),
      packages: listOf(list),
    })),
  };
}

const kinds = { conda: 'conda', pypi: 'pypi', conda_source: 'source' } as const;

function lookUp(
  wanted: Table[],
  packages: Map<string, { text: string; line: number }>,
  listed: Table[],
  file: string,
): LockedPackage[] {
  return wanted.map((item) => {
    const [key, kind] = Object.entries(kinds).find(([one]) => one in item) ?? [];
    if (key === undefined || kind === undefined)
      throw broken(file, `a package has an unknown kind: ${JSON.stringify(item).slice(0, 80)}`);
    const url = String(item[key]);
    const block = packages.get(`${key}: ${url}`.replaceAll(/['"]/g, ''));
    const [read] = block === undefined ? [] : listOf(parseYaml(block.text, file, block.line));
    const found = read ?? listed.find((one) => one[key] === item[key]);
    if (found === undefined) throw broken(file, `${url} is used, but not described`);
    return lockedPackage(kind, url, { ...found, ...item });
  });
}
