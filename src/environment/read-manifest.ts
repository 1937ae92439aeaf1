import { getStaticTOMLValue, ParseError, parseTOML } from 'toml-eslint-parser';
import { isTable, given } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { compareVersions, plainName } from './pixi-lock.ts';

type Table = Record<string, unknown>;
const tableAt = (value: unknown, key: string): Table => {
  const inner = isTable(value) ? value[key] : undefined;
  return isTable(inner) ? inner : {};
};
const listAt = (table: Table, key: string): unknown[] => {
  const value = table[key];
  return Array.isArray(value) ? (value as unknown[]) : [];
};
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;

/** Reads a `pixi.toml`, or the `[tool.pixi]` of a `pyproject.toml`. */
export function readPixiManifest(text: string, file: string): PixiManifest {
  const document = parse(text, file);
  const isPyproject = /(^|\/)pyproject\.toml$/.test(file);
  const root = isPyproject ? tableAt(document['tool'], 'pixi') : document;
  // `[project]` is the old name of `[workspace]`; in a pyproject.toml it is not Pixi's.
  const workspace = { ...tableAt(root, 'project'), ...tableAt(root, 'workspace') };
  const platforms = listAt(workspace, 'platforms').map(readPlatform);
  if (platforms.length === 0) throw noPlatforms(file, isPyproject, 'channels' in workspace);
  const features = Object.entries(tableAt(root, 'feature')).map(([name, one]): [string, Feature] => [
    name,
    featureOf(one),
  ]);
  return {
    file,
    name: textOf(workspace['name']) ?? textOf(tableAt(document, 'project')['name']),
    platforms,
    features: new Map([['default', featureOf({ ...root, platforms: undefined })], ...features]),
    environments: environmentsOf(tableAt(root, 'environments')),
  };
}

function parse(text: string, file: string): Table {
  try {
    return getStaticTOMLValue(parseTOML(text, { filePath: file }));
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw new Fault(
      'file-invalid',
      `${file}:${error.lineNumber}:${error.column + 1}: not valid TOML: ${error.message}`,
      { about: file, cause: error },
    );
  }
}

/** A workspace without platforms is one that Pixi reads, but locks for no machine. */
function noPlatforms(file: string, isPyproject: boolean, isWorkspace: boolean): Fault {
  const table = isPyproject ? 'tool.pixi.workspace' : 'workspace';
  const what = isWorkspace ? `[${table}] has no` : `not a Pixi manifest: no [${table}] with`;
  return new Fault('file-invalid', `${file}: ${what} \`platforms\``, {
    about: file,
    fix: isWorkspace ? 'pixi workspace platform add linux-64' : 'create a workspace with: pixi init',
  });
}

function featureOf(value: unknown): Feature {
  const table = tableAt({ value }, 'value');
  const dependencies = [
    ...['dependencies', 'host-dependencies', 'build-dependencies'].flatMap((key) =>
      Object.entries(tableAt(table, key)).flatMap(([name, said]) => dependency('conda', name, said)),
    ),
    ...Object.entries(tableAt(table, 'pypi-dependencies')).flatMap(([name, said]) =>
      dependency('pypi', name, said),
    ),
  ];
  return {
    platforms: Array.isArray(table['platforms']) ? table['platforms'].map(String) : undefined,
    cuda: given(
      cudaOf(tableAt(table, 'system-requirements')['cuda']),
      ...dependencies.flatMap(({ name, spec }) => (name === '__cuda' ? /\d+(\.\d+)?/.exec(spec)?.[0] : [])),
    ),
    dependencies: dependencies.filter(({ name }) => !name.startsWith('__')),
  };
}

/** `"12"`, or a table with the driver's version as `version` or `driver`. */
const cudaOf = (value: unknown): string | undefined => {
  const table = tableAt({ value }, 'value');
  return textOf(value) ?? textOf(table['version']) ?? textOf(table['driver']);
};

/** A required package; none for one with a condition, which only a solver can evaluate. */
function dependency(kind: Dependency['kind'], name: string, value: unknown): Dependency[] {
  const said = tableAt({ value }, 'value');
  if ('when' in said || 'env-markers' in said) return [];
  return [{ kind, name: plainName(kind, name), spec: textOf(value) ?? textOf(said['version']) ?? '*' }];
}

/** Every workspace has the environment `default`, declared or not. */
function environmentsOf(table: Table): PixiManifest['environments'] {
  const declared = Object.entries(table).map(([name, value]): [string, ManifestEnvironment] => {
    const inner = tableAt(table, name);
    const features = Array.isArray(value) ? (value as unknown[]) : listAt(inner, 'features');
    return [
      name,
      {
        features: features.map(String),
        withoutDefault: inner['no-default-feature'] === true,
        own: featureOf(inner),
      },
    ];
  });
  return new Map([['default', { features: [], withoutDefault: false, own: featureOf({}) }], ...declared]);
}

/** Keys of a platform's table and their virtual packages, in the order in which Pixi puts them into names. */
const keys: Record<string, string> = {
  cuda: '__cuda',
  archspec: '__archspec',
  glibc: '__glibc',
  linux: '__linux',
  macos: '__osx',
  windows: '__win',
};

/** Pixi's defaults, which it leaves out of names. */
const defaults: Record<string, string> = { __glibc: '2.28', __linux: '4.18', __osx: '13.0' };

/** A platform of a manifest: a name, or since pixi 0.71 a table with its virtual packages. */
function readPlatform(value: unknown): ManifestPlatform {
  if (!isTable(value)) return { name: String(value), subdir: String(value), virtual: {} };
  const subdir = textOf(value['platform']) ?? textOf(value['name']) ?? '';
  const virtual = virtualOf(value);
  return { name: textOf(value['name']) ?? derivedName(subdir, virtual), subdir, virtual };
}

/** The virtual packages of a platform's table. CUDA may be a version, or a table with `driver` and `arch`. */
function virtualOf(table: Table): Record<string, string> {
  const cuda = table['cuda'];
  const { driver, arch }: Table = isTable(cuda) ? cuda : { driver: cuda };
  const flat: Table = { ...table, cuda: driver, __cuda_arch: table['__cuda_arch'] ?? arch };
  flat['macos'] ??= table['osx'];
  const pairs = Object.entries(flat).flatMap(([key, value]): [string, string][] => {
    const [name, text] = [key.startsWith('__') ? key : keys[key], textOf(value)];
    return name === undefined || text === undefined ? [] : [[name, text]];
  });
  return Object.fromEntries(pairs);
}

/** Pixi's name for a platform without one: `linux-64-cuda-12-0`. */
function derivedName(subdir: string, virtual: Record<string, string>): string {
  const known = new Set(Object.values(keys));
  const others = Object.keys(virtual).filter((name) => !known.has(name));
  const inOrder = [...Object.entries(keys), ...others.sort().map((name) => [name, name] as const)];
  const parts = inOrder.flatMap(([key, name]) => {
    const value = virtual[name];
    const defaultValue = defaults[name];
    const isDefault =
      defaultValue !== undefined && compareVersions(value ?? defaultValue, defaultValue) === 0;
    return value === undefined || isDefault ? [] : [inName(key), inName(value)];
  });
  return [subdir, ...parts].join('-');
}

const inName = (text: string): string => text.replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-|-$/g, '');

/** The parts of a workspace that matter for where an environment runs. */
export interface PixiManifest {
  /** For messages. */
  file: string;
  name: string | undefined;
  platforms: ManifestPlatform[];
  features: Map<string, Feature>;
  environments: Map<string, ManifestEnvironment>;
}

interface ManifestEnvironment {
  features: string[];
  withoutDefault: boolean;
  /** What the environment requires itself, besides its features. */
  own: Feature;
}

export interface ManifestPlatform {
  name: string;
  /** `linux-64` */
  subdir: string;
  /** Declared virtual packages and their values, like `__cuda`: `12`. */
  virtual: Record<string, string>;
}

interface Feature {
  /** Names of platforms; undefined means all platforms of the workspace. */
  platforms: string[] | undefined;
  /** From `[system-requirements]`, or dependencies on `__cuda`. */
  cuda: string[];
  dependencies: Dependency[];
}

interface Dependency {
  kind: 'conda' | 'pypi';
  name: string;
  /** A version specification; `*` if there is none. */
  spec: string;
}

/** The features of an environment, the default one first, its own last. */
function featuresOf(manifest: PixiManifest, environment: string): Feature[] {
  const declared = manifest.environments.get(environment);
  const names = given(declared?.withoutDefault !== true && 'default', ...(declared?.features ?? []));
  return given(
    ...names.flatMap((name) => manifest.features.get(name) ?? []),
    declared !== undefined && declared.own,
  );
}

/** The platforms that all features of an environment allow, by name or subdir. */
export function platformsOf(manifest: PixiManifest, environment: string): ManifestPlatform[] {
  const features = featuresOf(manifest, environment);
  const isName = (text: string): boolean => manifest.platforms.some(({ name }) => name === text);
  const allows = (names: string[], { name, subdir }: ManifestPlatform): boolean =>
    names.includes(name) || (names.includes(subdir) && !isName(subdir));
  return manifest.platforms.filter((platform) =>
    features.every(({ platforms }) => platforms === undefined || allows(platforms, platform)),
  );
}

/** What an environment requires on all its platforms. */
export const dependenciesOf = (manifest: PixiManifest, environment: string): Dependency[] =>
  featuresOf(manifest, environment).flatMap(({ dependencies }) => dependencies);

/** The newest CUDA a manifest declares for an environment on a platform: as requirement, platform or dependency. */
export const declaredCuda = (
  manifest: PixiManifest,
  environment: string,
  platform: { name: string },
): string | undefined =>
  [
    ...featuresOf(manifest, environment).flatMap(({ cuda }) => cuda),
    manifest.platforms.find(({ name }) => name === platform.name)?.virtual['__cuda'],
  ]
    .filter((version) => version !== undefined)
    .sort(compareVersions)
    .at(-1);
