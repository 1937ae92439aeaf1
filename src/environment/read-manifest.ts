import { type AST, getStaticTOMLValue, ParseError, parseTOML } from 'toml-eslint-parser';
import { defined } from '@updraft/base';
import { Fault } from '../fault/fault.ts';
import { compareVersions } from './conda-version.ts';
import { plainName } from './locked-package.ts';
import {
  type Dependency,
  type Feature,
  type ManifestEnvironment,
  type ManifestPlatform,
  type PixiManifest,
  readRequirements,
} from './pixi-manifest.ts';

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
