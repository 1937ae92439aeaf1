import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { isTable, nearest, defined } from '@updraft/base';
import { Fault } from '@updraft/account/fault';

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

/** The version of a virtual package that a platform was locked for; a processor's name (`__archspec=0=x86_64_v3`). */
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
const versions = [5, 6, 7];

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
    const key = keyOf(item);
    if (key !== undefined) packages.set(key, { text: item, line });
    line += item.split('\n').length - 1;
  }
  return { head, packages };
}

/** `conda: https://…`. Before version 6 the kind is named first, and the place in its own line. */
function keyOf(item: string): string | undefined {
  const [first, kind] = /^- (?:kind: (\w+)|\w+: .*?)\s*$/m.exec(item) ?? [];
  const key = kind === undefined ? first?.slice(2).trim() : placeOf(kind, item);
  return key?.replaceAll(/['"]/g, '');
}

function placeOf(kind: string, item: string): string | undefined {
  const place = /^ {2}(?:url|path): (.*?)\s*$/m.exec(item)?.[1];
  return place && `${kind}: ${place}`;
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
    `${file}: format version ${version} is ${newer ? 'newer' : 'older'} ` +
      `than the supported ones (${versions.join(', ')})`,
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
    const found =
      read ??
      listed.find((one) => (one['kind'] === key ? (one['url'] ?? one['path']) : one[key]) === item[key]);
    if (found === undefined) throw broken(file, `${url} is used, but not described`);
    return lockedPackage(isSource(kind, url) ? 'source' : kind, url, { ...found, ...item });
  });
}

/** Before version 7, a conda package that is built from a folder or from git is only recognized by its place. */
const isSource = (kind: LockedPackage['kind'], url: string): boolean =>
  kind === 'conda' && !/\.(conda|tar\.bz2)$/.test(condaFile(url));

export interface LockedPackage {
  kind: 'conda' | 'pypi' | 'source';
  /** Where it comes from, without user name and password. */
  url: string;
  /** In lower case; for a PyPI package with `-` for `_` and `.`. */
  name: string;
  version: string;
  /** The build string of a conda package; empty for others. */
  build: string;
  /** `linux-64`, `noarch`; only for conda packages. */
  subdir?: string;
  sha256?: string;
  md5?: string;
  bytes?: number;
  depends: string[];
  constrains: string[];
  /** Names of a conda package on PyPI: `pytorch` is `torch` there. */
  onPypi: string[];
}

type Fields = Record<string, unknown>;

/** A package from its fields in the lock; missing fields are taken from its file name. */
export function lockedPackage(kind: LockedPackage['kind'], url: string, fields: Fields): LockedPackage {
  const named = kind === 'conda' ? condaName(url) : kind === 'pypi' ? wheelName(url) : sourceName(url);
  const text = (key: string): string | undefined =>
    typeof fields[key] === 'string' || typeof fields[key] === 'number' ? String(fields[key]) : undefined;
  const [sha256, md5, subdir] = [text('sha256'), text('md5'), text('subdir') ?? named.subdir];
  const { size } = fields;
  return {
    kind,
    url: url.replace(/^([a-z][a-z+]*:\/\/)[^/@]*@/i, '$1'),
    name: plainName(kind, text('name') ?? named.name),
    version: text('version') ?? named.version,
    build: text('build') ?? named.build,
    ...defined({ subdir, sha256: sha256?.toLowerCase(), md5: md5?.toLowerCase() }),
    ...(typeof size === 'number' && { bytes: size }),
    depends: texts(fields['depends'] ?? fields['requires_dist']),
    constrains: texts(fields['constrains']),
    onPypi: texts(fields['purls']).flatMap((purl) => /^pkg:pypi\/([^@?#]+)/.exec(purl)?.[1] ?? []),
  };
}

/** The name by which packages of a kind are compared. */
export const plainName = (kind: LockedPackage['kind'], name: string): string =>
  kind === 'pypi' ? name.toLowerCase().replaceAll(/[-_.]+/g, '-') : name.toLowerCase();

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];

type Named = Pick<LockedPackage, 'name' | 'version' | 'build' | 'subdir'>;

/** The file name of a conda package. */
export const condaFile = (url: string): string =>
  decodeURIComponent(url.replace(/[?#].*$/, '').replace(/^.*\//, ''));

/** `…/linux-64/pytorch-gpu-2.7.1-cuda129_mkl_h43a4b0b_304.conda` */
function condaName(url: string): Named {
  const subdir = /([^/]+)\/[^/]*$/.exec(url.replace(/[?#].*$/, ''))?.[1];
  const parts = condaFile(url)
    .replace(/\.(conda|tar\.bz2)$/, '')
    .split('-');
  const [build = '', version = ''] = [parts.pop(), parts.pop()];
  return { name: parts.join('-'), version, build, ...defined({ subdir }) };
}

/** `…/torch-2.4.1%2Bcu124-cp312-cp312-linux_x86_64.whl`, `…/thing-1.0.tar.gz`, or a folder. */
function wheelName(url: string): Named {
  const file =
    url
      .replace(/[?#].*$/, '')
      .split('/')
      .findLast((part) => part !== '') ?? '';
  const [name = '', version = ''] = decodeURIComponent(file)
    .replace(/\.(whl|zip|tar\.\w+)$/, '')
    .split('-');
  return { name, version: /^\d/.test(version) ? version : '', build: '' };
}

/** `name[1a2b3c4d] @ git+https://…` */
const sourceName = (url: string): Named => ({
  name: /^([^[\s@]+)\s*(?:\[[^\]]*\])?\s*@/.exec(url)?.[1] ?? url,
  version: '',
  build: '',
});
/**
 * Compares two dotted versions as conda does; a word such as `rc1` or `a0` sorts before a number in its place.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const order = compareParts(left[index] ?? 0, right[index] ?? 0);
    if (order !== 0) return order;
  }
  return 0;
}

/** Without the epoch and the local part, which do not matter for the order here. */
const partsOf = (version: string): (number | string)[] =>
  (
    version
      .toLowerCase()
      .replace(/^\d+!/, '')
      .replace(/\+.*$/, '')
      .match(/\d+|[a-z]+/g) ?? []
  ).map((part) => (/^\d/.test(part) ? Number(part) : part));

function compareParts(a: number | string, b: number | string): number {
  const order = rank(a) - rank(b);
  if (order !== 0) return order;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Words sort before numbers, except `post`. */
const rank = (part: number | string): number => (typeof part === 'number' ? 1 : part === 'post' ? 2 : 0);
