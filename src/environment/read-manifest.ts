import { type AST, getStaticTOMLValue, ParseError, parseTOML } from 'toml-eslint-parser';
import { defined, isTable } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { compareVersions, plainName } from './pixi-lock.ts';

type Table = Record<string, unknown>;
const tableAt = (value: unknown, key: string): Table => {
  const inner = typeof value === 'object' && value !== null ? (value as Table)[key] : undefined;
  return typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? (inner as Table) : {};
};
const listAt = (table: Table, key: string): unknown[] => {
  const value = table[key];
  return Array.isArray(value) ? (value as unknown[]) : [];
};
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;

/** Reads a `pixi.toml`, or the `[tool.pixi]` of a `pyproject.toml`. */
export function readPixiManifest(text: string, file: string): PixiManifest {
  const program = parse(text, file);
  const document = getStaticTOMLValue(program);
  const isPyproject = /(^|\/)pyproject\.toml$/.test(file);
  const root = isPyproject ? tableAt(document['tool'], 'pixi') : document;
  const above = isPyproject ? ['tool', 'pixi'] : [];
  const lines = tomlLines(program);
  const lineOf: LineOf = (...path) => lines.get(JSON.stringify([...above, ...path]));
  // `[project]` is the old name of `[workspace]`; in a pyproject.toml it is not Pixi's.
  const workspace = { ...tableAt(root, 'project'), ...tableAt(root, 'workspace') };
  const platforms = listAt(workspace, 'platforms').map(readPlatform);
  if (platforms.length === 0) throw noWorkspace(file, isPyproject);
  const name = textOf(workspace['name']) ?? textOf(tableAt(document, 'project')['name']);
  const features = Object.keys(tableAt(root, 'feature')).map((feature): [string, Feature] => [
    feature,
    featureOf(tableAt(tableAt(root, 'feature'), feature), (...path) => lineOf('feature', feature, ...path)),
  ]);
  const declared = new Map([['default', featureOf({ ...root, platforms: undefined }, lineOf)], ...features]);
  return {
    file,
    ...defined({ name }),
    channels: listAt(workspace, 'channels').flatMap((channel) =>
      typeof channel === 'string' ? channel : (textOf(tableAt({ channel }, 'channel')['channel']) ?? []),
    ),
    platforms,
    features: isPyproject ? withRequirements(declared, readRequirements(document, lines)) : declared,
    environments: environmentsOf(tableAt(root, 'environments'), lineOf),
  };
}

type LineOf = (...path: string[]) => number | undefined;

function parse(text: string, file: string): AST.TOMLProgram {
  try {
    return parseTOML(text, { filePath: file });
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw new Fault(
      'file-invalid',
      `${file}:${error.lineNumber}:${error.column + 1}: not valid TOML: ${error.message}`,
      { about: file, cause: error },
    );
  }
}

function noWorkspace(file: string, isPyproject: boolean): Fault {
  const table = isPyproject ? 'tool.pixi.workspace' : 'workspace';
  return new Fault('file-invalid', `${file}: not a Pixi manifest: [${table}] with \`platforms\` is missing`, {
    about: file,
    fix: 'create a workspace with: pixi init',
  });
}

function featureOf(table: Table, lineOf: LineOf): Feature {
  const cuda = cudaOf(tableAt(table, 'system-requirements')['cuda']);
  const targets = tableAt(table, 'target');
  return {
    ...(Array.isArray(table['platforms']) && { platforms: listAt(table, 'platforms').map(String) }),
    ...defined({ cuda }),
    dependencies: [
      ...dependenciesIn(table, lineOf),
      ...Object.keys(targets).flatMap((target) =>
        dependenciesIn(tableAt(targets, target), (...path) => lineOf('target', target, ...path), target),
      ),
    ],
  };
}

/** `"12"`, or a table with the driver's version as `version` or `driver`. */
const cudaOf = (value: unknown): string | undefined => {
  const table = tableAt({ value }, 'value');
  return textOf(value) ?? textOf(table['version']) ?? textOf(table['driver']);
};

const condaTables = ['dependencies', 'host-dependencies', 'build-dependencies'];

function dependenciesIn(table: Table, lineOf: LineOf, target?: string): Dependency[] {
  const of = (kind: Dependency['kind'], key: string): Dependency[] =>
    Object.entries(tableAt(table, key)).map(([name, value]) => {
      const said = tableAt({ value }, 'value');
      const line = lineOf(key, name);
      return {
        kind,
        name: plainName(kind, name),
        spec: textOf(value) ?? textOf(said['version']) ?? '*',
        ...defined({ line, target }),
        ...(('when' in said || 'env-markers' in said) && { conditional: true }),
      };
    });
  return [...condaTables.flatMap((key) => of('conda', key)), ...of('pypi', 'pypi-dependencies')];
}

/** Adds the requirements of the project's own tables to the features of the same names. */
function withRequirements(
  features: Map<string, Feature>,
  asked: Map<string, Dependency[]>,
): Map<string, Feature> {
  const all = [...new Set([...features.keys(), ...asked.keys()])].map((name): [string, Feature] => {
    const { dependencies, ...rest } = features.get(name) ?? { dependencies: [] };
    // requires-python counts only if no conda dependency names Python.
    const known = new Set(dependencies.filter(({ kind }) => kind === 'conda').map((one) => one.name));
    const more = (asked.get(name) ?? []).filter((one) => one.kind === 'pypi' || !known.has(one.name));
    return [name, { ...rest, dependencies: [...dependencies, ...more] }];
  });
  return new Map(all);
}

/** Every workspace has the environment `default`, declared or not. */
function environmentsOf(table: Table, lineOf: LineOf): PixiManifest['environments'] {
  const declared = Object.entries(table).map(([name, value]): [string, ManifestEnvironment] => {
    const inner = tableAt(table, name);
    const features = Array.isArray(value) ? (value as unknown[]) : listAt(inner, 'features');
    return [
      name,
      {
        features: features.map(String),
        withoutDefault: inner['no-default-feature'] === true,
        own: featureOf(inner, (...path) => lineOf('environments', name, ...path)),
      },
    ];
  });
  return new Map([['default', { features: [], withoutDefault: false }], ...declared]);
}

/** The line of each key and each list item of a TOML file, by path as JSON. */
function tomlLines({ body: [top] }: AST.TOMLProgram): Map<string, number> {
  const lines = new Map<string, number>();
  for (const node of top.body)
    if (node.type === 'TOMLKeyValue') noteValue(node, [], lines);
    else for (const inner of node.body) noteValue(inner, node.resolvedKey, lines);
  return lines;
}

function noteValue(node: AST.TOMLKeyValue, above: (string | number)[], lines: Map<string, number>): void {
  const keys = node.key.keys.map((part) => (part.type === 'TOMLBare' ? part.name : part.value));
  const path = [...above, ...keys];
  lines.set(JSON.stringify(path), node.loc.start.line);
  if (node.value.type === 'TOMLInlineTable')
    for (const inner of node.value.body) noteValue(inner, path, lines);
  if (node.value.type === 'TOMLArray')
    for (const [index, item] of node.value.elements.entries())
      lines.set(JSON.stringify([...path, index]), item.loc.start.line);
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
  if (typeof value !== 'object' || value === null)
    return { name: String(value), subdir: String(value), virtual: {} };
  const table = value as Table;
  const subdir = textOf(table['platform']) ?? textOf(table['name']) ?? '';
  const virtual = virtualOf(table);
  return { name: textOf(table['name']) ?? derivedName(subdir, virtual), subdir, virtual };
}

/** The virtual packages of a platform's table. CUDA may be a version, or a table with `driver` and `arch`. */
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
  name?: string;
  channels: string[];
  platforms: ManifestPlatform[];
  features: Map<string, Feature>;
  environments: Map<string, ManifestEnvironment>;
}

interface ManifestEnvironment {
  features: string[];
  withoutDefault: boolean;
  /** What the environment requires itself, besides its features. */
  own?: Feature;
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
  platforms?: string[];
  /** From `[system-requirements]`. */
  cuda?: string;
  dependencies: Dependency[];
}

export interface Dependency {
  kind: 'conda' | 'pypi';
  name: string;
  /** A version specification; `*` if there is none. */
  spec: string;
  /** In the manifest. */
  line?: number;
  /** Only for platforms that this selects: `linux-64`, `linux`, `unix`, a platform's name, or `*-cuda`. */
  target?: string;
  /** Has a condition that only a solver can evaluate. */
  conditional?: true;
}

/** The features of an environment, the default one first, its own last. */
function featuresOf(manifest: PixiManifest, environment: string): Feature[] {
  const declared = manifest.environments.get(environment);
  const names = [...(declared?.withoutDefault === true ? [] : ['default']), ...(declared?.features ?? [])];
  return [
    ...names.flatMap((name) => manifest.features.get(name) ?? []),
    ...(declared?.own ? [declared.own] : []),
  ];
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

/** The dependencies of an environment on a platform; within a feature, those for a target replace the general ones. */
export function dependenciesOf(
  manifest: PixiManifest,
  environment: string,
  platform: { name: string; subdir: string },
): Dependency[] {
  return featuresOf(manifest, environment).flatMap(({ dependencies }) => {
    const asked = dependencies.filter(({ target }) => target === undefined || selects(target, platform));
    return [...new Map(asked.map((one) => [`${one.kind} ${one.name}`, one])).values()];
  });
}

function selects(target: string, { name, subdir }: { name: string; subdir: string }): boolean {
  const [system = ''] = subdir.split('-');
  const pattern = new RegExp(
    `^${target
      .split('*')
      .map((part) => RegExp.escape(part))
      .join('.*')}$`,
  );
  return pattern.test(name) || [subdir, system, ...(system === 'win' ? [] : ['unix'])].includes(target);
}

/** The newest CUDA a manifest declares for an environment on a platform: as requirement, platform or dependency. */
export function declaredCuda(
  manifest: PixiManifest,
  environment: string,
  platform: { name: string; subdir: string },
): string | undefined {
  const asked = dependenciesOf(manifest, environment, platform)
    .filter(({ name }) => name === '__cuda')
    .map(({ spec }) => /\d+(\.\d+)?/.exec(spec)?.[0]);
  return [
    ...featuresOf(manifest, environment).map(({ cuda }) => cuda),
    manifest.platforms.find(({ name }) => name === platform.name)?.virtual['__cuda'],
    ...asked,
  ]
    .filter((version) => version !== undefined)
    .sort(compareVersions)
    .at(-1);
}

type Lines = Map<string, number>;

/**
 * The requirements in the standard tables of a `pyproject.toml`, by the feature that Pixi makes of each: the project's
 * own, its optional ones and its dependency groups. Included groups are not followed.
 */
function readRequirements(document: Table, lines: Lines): Map<string, Dependency[]> {
  const project = tableOf(document['project']);
  const from = (path: string[], list: unknown): Dependency[] =>
    (Array.isArray(list) ? (list as unknown[]) : []).flatMap((text, index) =>
      typeof text === 'string' ? requirement(text, lines.get(JSON.stringify([...path, index]))) : [],
    );
  const groups = [['project', 'optional-dependencies'], ['dependency-groups']].flatMap((path) => {
    const table = path.reduce<Table>((outer, key) => tableOf(outer[key]), document);
    return Object.entries(table).map(([name, list]) => [name, from([...path, name], list)] as const);
  });
  const own = [...python(project, lines), ...from(['project', 'dependencies'], project['dependencies'])];
  const asked = new Map<string, Dependency[]>();
  for (const [name, list] of [['default', own] as const, ...groups])
    asked.set(name, [...(asked.get(name) ?? []), ...list.filter((one) => one.name !== project['name'])]);
  return asked;
}

const tableOf = (value: unknown): Table => (isTable(value) ? value : {});

function python(project: Table, lines: Lines): Dependency[] {
  const spec = project['requires-python'];
  const line = lines.get(JSON.stringify(['project', 'requires-python']));
  return typeof spec === 'string' ? [{ kind: 'conda', name: 'python', spec, ...defined({ line }) }] : [];
}

/** `torch[extra] >=2.4,<3 ; marker` or `torch @ URL`. */
function requirement(text: string, line: number | undefined): Dependency[] {
  const [, name, spec = '', marker] =
    /^\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*([^;]*?)\s*(;.*)?$/.exec(text) ?? [];
  if (name === undefined) return [];
  const version = spec.replaceAll(/[()]/g, '').trim();
  return [
    {
      kind: 'pypi',
      name: plainName('pypi', name),
      spec: version === '' || version.startsWith('@') ? '*' : version,
      ...defined({ line }),
      ...(marker !== undefined && { conditional: true }),
    },
  ];
}
