import { defined, isTable } from '@updraft/base';
import { compareVersions } from './conda-version.ts';
import { plainName } from './locked-package.ts';

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

export interface ManifestEnvironment {
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

export interface Feature {
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

/** The newest CUDA that a manifest declares for an environment on a platform: as requirement, platform or dependency. */
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

type Table = Record<string, unknown>;
type Lines = Map<string, number>;

/**
 * The requirements in the standard tables of a `pyproject.toml`, by the feature that Pixi makes of each: the project's
 * own, its optional ones and its dependency groups. Included groups are not followed.
 */
export function readRequirements(document: Table, lines: Lines): Map<string, Dependency[]> {
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
