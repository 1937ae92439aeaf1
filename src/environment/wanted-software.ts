import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { getStaticTOMLValue, parseTOML } from 'toml-eslint-parser';
import { defined, errorReason, given } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { compareVersions, yaml } from './pixi-lock.ts';

/** The file in which the software of a project is written down. */
export interface SoftwareSource {
  kind: 'pixi' | 'requirements' | 'conda' | 'pyproject';
  place: string;
}

const kinds: [RegExp, SoftwareSource['kind']][] = [
  [/^pixi\.toml$/, 'pixi'],
  [/^(environment|env|conda)\.ya?ml$/, 'conda'],
  [/^requirements.*\.(txt|in)$/, 'requirements'],
  [/^pyproject\.toml$/, 'pyproject'],
];

/** What a file that the user names is. */
export function sourceOf(place: string): SoftwareSource {
  const name = path.basename(place);
  const kind = kinds.find(([pattern]) => pattern.test(name))?.[1];
  return { kind: kind ?? (/\.ya?ml$/.test(name) ? 'conda' : 'requirements'), place };
}

/** The best description of the software in a folder; without Pixi's, which has a lock. */
export async function findSoftware(
  folder: string,
  { withPixi = true } = {},
): Promise<SoftwareSource | undefined> {
  // `requirements.txt` before `requirements-dev.txt`.
  const names = (await readdir(folder).catch((): string[] => [])).sort(
    (a, b) => a.length - b.length || (a < b ? -1 : 1),
  );
  for (const [pattern, kind] of withPixi ? kinds : kinds.slice(1)) {
    const name = names.find((one) => pattern.test(one));
    const place = path.join(folder, name ?? '');
    if (name === undefined) continue;
    if (kind !== 'pyproject') return { kind, place };
    const text = await readFile(place, 'utf8').catch(() => '');
    if (withPixi && /^\[tool\.pixi\b/m.test(text)) return { kind: 'pixi', place };
    if (/^dependencies\s*=|^\[tool\.poetry\.dependencies\]/m.test(text)) return { kind, place };
  }
  return undefined;
}

/** Reads the software that a source describes; nothing is run. */
export async function readSoftware({ kind, place }: SoftwareSource): Promise<WantedSoftware> {
  try {
    const text = await readFile(place, 'utf8');
    if (kind === 'conda') return readCondaEnvironment(yaml().parse(text, { maxAliasCount: 0 }));
    if (kind === 'pyproject') return readProjectTables(getStaticTOMLValue(parseTOML(text)));
    const included = await Promise.all(
      includedFiles(text).map(async (file) => await readFile(path.join(path.dirname(place), file), 'utf8')),
    );
    return readPipRequirements([text, ...included].join('\n'));
  } catch (error) {
    throw new Fault('file-invalid', `cannot read the software in ${place}: ${errorReason(error)}`, {
      about: place,
      fix: 'name requirements.txt, environment.yml or pyproject.toml',
      cause: error,
    });
  }
}

/** A package that someone asked for, by its name and version. */
export interface Wanted {
  name: string;
  /** A version specification; `*` if there is none. */
  spec: string;
  extras?: string[];
  marker?: string;
  /** A wheel by its address. */
  url?: string;
}

/** The software of a project, from wherever it was written down. */
export interface WantedSoftware {
  python?: string;
  conda: Wanted[];
  pypi: Wanted[];
  channels: string[];
  /** The CUDA of its PyTorch, like `12.1`. */
  cuda?: string;
  /** What cannot be carried over, and why. */
  lost: { what: string; why: string }[];
}

const noSoftware = (): WantedSoftware => ({ conda: [], pypi: [], channels: [], lost: [] });

/** `cu121` → `12.1`, `cu118` → `11.8`. */
const cudaOf = (digits: string | undefined): string | undefined =>
  digits === undefined ? undefined : `${digits.slice(0, -1)}.${digits.slice(-1)}`;

const includedFiles = (text: string): string[] =>
  [...text.matchAll(/^\s*(?:-r|--requirement)[ =]\s*(\S+)/gm)].map(([, file = '']) => file);

/** Reads pip's requirements; lines that pip would reject are ignored. */
export function readPipRequirements(text: string): WantedSoftware {
  const software = noSoftware();
  const lines = text
    .replaceAll(/\\\r?\n/g, ' ')
    .split(/\r?\n/)
    .map((line) =>
      line
        .replace(/(^|\s)#.*$/, '')
        .replaceAll(/\s--hash[= ]\S+/g, '')
        .trim(),
    );
  for (const line of lines) {
    if (
      line === '' ||
      /^(-r|--requirement|-c|--constraint|--no-binary|--only-binary|--prefer|--pre)/.test(line)
    )
      continue;
    const index = /^(?:-i|--index-url|--extra-index-url)[ =]\s*(\S+)/.exec(line)?.[1];
    if (index !== undefined) addIndex(software, index);
    else if (/^(-f|--find-links|--trusted-host)/.test(line))
      software.lost.push({ what: line, why: 'add the wheels to the manifest by URL, if they are needed' });
    else addRequirement(software, line);
  }
  return software;
}

function addIndex(software: WantedSoftware, index: string): void {
  const cuda = cudaOf(/download\.pytorch\.org\/whl\/(?:\w+\/)?cu(\d+)/.exec(index)?.[1]);
  if (cuda !== undefined) software.cuda = cuda;
  else if (!/pypi\.org|download\.pytorch\.org/.test(index))
    software.lost.push({
      what: index,
      why: 'name this index in [pypi-options] of the manifest, if it is needed',
    });
}

/** `name[extra]>=1,<2; marker`, `name @ URL`. */
function addRequirement(software: WantedSoftware, text: string): void {
  if (/^(-e|--editable)\b|^\.{0,2}\/|^\.$|^file:/.test(text)) {
    software.lost.push({
      what: text,
      why: 'your own code travels with each job: name it in `files` of [train]',
    });
    return;
  }
  const [, name, extras, rest = '', marker] =
    /^([A-Za-z0-9][\w.-]*)\s*(?:\[([^\]]*)\])?\s*([^;]*?)\s*(?:;\s*(.+))?$/.exec(text) ?? [];
  const url = /^@\s*(\S+)/.exec(rest)?.[1] ?? (/^(git\+|https?:)/.test(text) ? text : undefined);
  if (url !== undefined && !/\.whl([#?].*)?$/.test(url)) {
    software.lost.push({
      what: text,
      why: 'is built from source: a pack holds only wheels and conda packages',
    });
    return;
  }
  if (
    name === undefined ||
    /platform_system\s*==\s*["'](Windows|Darwin)|sys_platform\s*==\s*["'](win32|darwin)/.test(marker ?? '')
  )
    return;
  const version = rest.replaceAll(/[()\s]/g, '');
  const cuda = cudaOf(/\+cu(\d+)/.exec(version)?.[1]);
  if (cuda !== undefined) software.cuda = cuda;
  software.pypi.push({
    name: name.toLowerCase().replaceAll(/[-_.]+/g, '-'),
    spec: url !== undefined || version === '' ? '*' : version.replace(/\+(cu\d+|cpu)/, ''),
    ...defined({ url, marker, extras: extras?.split(',').map((one) => one.trim()) }),
  });
}

/** Packages of conda that only choose a build of PyTorch. */
const cudaPackages = /^(pytorch-cuda|cudatoolkit|cuda-version|cuda)$/;
const replacedChannels =
  /^(defaults|pytorch|nvidia|anaconda|main|nodefaults)$|pytorch\.org|anaconda\.(com|org)\/(main|pytorch|nvidia)/;

/** Reads the `environment.yml` of conda, as a document. */
export function readCondaEnvironment(document: unknown): WantedSoftware {
  const software = noSoftware();
  const { channels, dependencies } = (document ?? {}) as { channels?: unknown; dependencies?: unknown };
  const texts = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
  for (const channel of texts(channels).filter((one) => typeof one === 'string'))
    if (!replacedChannels.test(channel)) software.channels.push(channel);
    else if (/pytorch|nvidia/.test(channel))
      software.lost.push({
        what: `channel ${channel}`,
        why: 'conda-forge has the same packages, with their CUDA builds',
      });
  for (const one of texts(dependencies)) {
    if (typeof one === 'string') addCondaSpec(software, one);
    else
      for (const text of texts((one as { pip?: unknown } | null)?.pip))
        if (typeof text === 'string' && !text.startsWith('-')) addRequirement(software, text);
  }
  return software;
}

/** `channel::name=1.2=build`, `name>=1.2`. */
function addCondaSpec(software: WantedSoftware, text: string): void {
  const [, name = '', version = '', build] =
    /^(?:[^\s:]+::)?([\w.-]+?)\s*((?:[=<>!~].*?)?)(?:(?<=[\d*])=([^=<>]+))?$/.exec(text.trim()) ?? [];
  const spec = condaSpec(version.replaceAll(/\s/g, ''));
  if (name === '' || /^(pip|setuptools|wheel|cpuonly|pytorch-mutex)$/.test(name)) return;
  if (name === 'python') software.python = spec;
  else if (cudaPackages.test(name)) software.cuda = /\d+(\.\d+)?/.exec(spec)?.[0] ?? '12';
  else software.conda.push({ name: name.toLowerCase(), spec });
  if (build !== undefined) {
    const cuda = /cuda(\d+\.\d+)/.exec(build)?.[1];
    if (cuda !== undefined) software.cuda = cuda;
    software.lost.push({
      what: `${name} build ${build}`,
      why: 'the lock chooses the build; the version is kept',
    });
  }
}

/** One `=` of conda means: this version and what begins with it. */
const condaSpec = (version: string): string => {
  const fuzzy = /^=([\w.]+)$/.exec(version)?.[1];
  return version === '' ? '*' : fuzzy === undefined ? version : `${fuzzy}.*`;
};

/** Reads the dependencies in a `pyproject.toml`, or those that Poetry keeps there. */
export function readProjectTables({ project, tool }: Record<string, unknown>): WantedSoftware {
  const software = noSoftware();
  const { dependencies, 'requires-python': python } = (project ?? {}) as Record<string, unknown>;
  if (typeof python === 'string') software.python = python;
  for (const text of Array.isArray(dependencies) ? (dependencies as unknown[]) : [])
    if (typeof text === 'string') addRequirement(software, text);
  const { poetry } = (tool ?? {}) as { poetry?: { dependencies?: Record<string, unknown> } };
  for (const [name, said] of Object.entries(poetry?.dependencies ?? {})) {
    const { version, markers } = (typeof said === 'string' ? { version: said } : said) as Record<
      string,
      unknown
    >;
    if (typeof version !== 'string')
      software.lost.push({
        what: `${name} of Poetry`,
        why: 'has no single version: name it in the manifest',
      });
    else if (name === 'python') software.python = poetrySpec(version);
    else
      addRequirement(
        software,
        `${name}${poetrySpec(version)}${typeof markers === 'string' ? `; ${markers}` : ''}`,
      );
  }
  return software;
}

/** `^1.2` → `>=1.2,<2`, `~1.2` → `>=1.2,==1.2.*`, `1.2` → `==1.2`. */
function poetrySpec(version: string): string {
  const clauses = version.split(',').map((clause) => {
    const [, sign = '', text = ''] = /^\s*([\^~]?)v?(\d[\w.*]*)\s*$/.exec(clause) ?? [];
    if (text === '') return clause.trim();
    const parts = text.split('.');
    const first = parts.findIndex((part) => Number(part) > 0);
    const upper = parts.slice(0, first + 1).map((part, index) => (index === first ? Number(part) + 1 : part));
    if (sign === '^' && first >= 0) return `>=${text},<${upper.join('.')}`;
    return sign === '' ? `==${text}` : `>=${text},==${parts.slice(0, 2).join('.')}.*`;
  });
  return clauses.join(',').replace(/^\*$/, '');
}

/** What asks for another version than there is, and what cannot be compared. */
export interface VersionsApart {
  unmet: { name: string; spec: string; has: string }[];
  unread: string[];
}

/** Compares by the names of PyPI; `python` is the interpreter. What is not there at all does not differ. */
export function compareSoftware(
  { python, conda, pypi }: WantedSoftware,
  has: ReadonlyMap<string, string>,
): VersionsApart {
  const apart: VersionsApart = { unmet: [], unread: [] };
  const own = python === undefined ? [] : [{ name: 'python', spec: python }];
  const packages = conda.map((one) => ({ ...one, name: torchConda.test(one.name) ? 'torch' : one.name }));
  for (const { name, spec, marker, url } of [...own, ...packages, ...pypi] as Wanted[]) {
    const version = has.get(name);
    const isWanted = marker === undefined || holds(marker, has.get('python') ?? '');
    if (version === undefined || url !== undefined || isWanted === false) continue;
    const isMet = isWanted && meets(version, spec);
    if (isMet === undefined)
      apart.unread.push(marker === undefined ? `${name}${spec}` : `${name}; ${marker}`);
    else if (!isMet) apart.unmet.push({ name, spec, has: version });
  }
  return apart;
}

const numbersOf = (version: string): string => /^v?(\d+(?:\.\d+)*)/.exec(version)?.[1] ?? '';

/** By PEP 440. A version before or after a release counts as the release, as builds of PyTorch by others have it. */
function meets(version: string, spec: string): boolean | undefined {
  const has = numbersOf(version);
  const clauses = spec.split(',').map((clause): boolean | undefined => {
    const [, sign = '==', text = '', star] = /^(===?|[!<>~]=|[<>])?v?(\d[\w.]*?)(\.\*)?$/.exec(clause) ?? [];
    const wanted = numbersOf(text);
    if (wanted === '') return clause === '*' || undefined;
    const within = (length: number): boolean => {
      const [here, there] = [has, wanted].map((one) =>
        [...one.split('.'), '0', '0', '0', '0'].slice(0, length),
      );
      return compareVersions(here?.join('.') ?? '', there?.join('.') ?? '') === 0;
    };
    const order = compareVersions(has, wanted);
    const isSame = star === undefined ? order === 0 : within(wanted.split('.').length);
    if (order === 0 && (has !== version.replace(/\+.*$/, '') || wanted !== text)) return true;
    if (sign === '~=') return order >= 0 && within(wanted.split('.').length - 1);
    if (sign.startsWith('=')) return isSame;
    if (sign === '!=') return !isSame;
    return (sign.startsWith('<') ? order < 0 : order > 0) || (sign.endsWith('=') && order === 0);
  });
  return has === '' || clauses.includes(undefined) ? undefined : !clauses.includes(false);
}

/** What markers may ask of a machine that trains. */
const machine: Record<string, string> = {
  sys_platform: 'linux',
  platform_system: 'Linux',
  os_name: 'posix',
  extra: '',
  implementation_name: 'cpython',
  platform_python_implementation: 'CPython',
};

/** Whether a marker holds; undefined for one with brackets, or about something else. */
function holds(marker: string, python: string): boolean | undefined {
  const any = marker.split(/\s+or\s+/).map((all) => {
    const parts = all.split(/\s+and\s+/).map((text) => {
      const [, name = '', sign = '', value = ''] =
        /^\s*(\w+)\s*([=!<>~]+)\s*["']([^"']*)["']\s*$/.exec(text) ?? [];
      if (name === 'python_version') return meets(python.split('.', 2).join('.'), sign + value);
      if (name === 'python_full_version') return meets(python, sign + value);
      const found = machine[name];
      return found === undefined || !/^[!=]=$/.test(sign) ? undefined : (found === value) === (sign === '==');
    });
    return parts.includes(false) ? false : parts.includes(undefined) ? undefined : true;
  });
  return any.includes(true) || (any.includes(undefined) ? undefined : false);
}

/** PyTorch and what is built for one version of it. */
const torchWheels = /^(torch|torchvision|torchaudio|torchtext)$/;
const torchConda = /^(pytorch|pytorch-gpu|pytorch-cpu|torch)$/;

const quote = (text: string): string => JSON.stringify(text);
const key = (name: string): string => (/^[\w-]+$/.test(name) ? name : quote(name));

function entry({ name, spec, extras, marker, url }: Wanted, index?: string): string {
  const fields = given(
    url === undefined ? `version = ${quote(spec)}` : `url = ${quote(url)}`,
    extras !== undefined && `extras = [${extras.map(quote).join(', ')}]`,
    marker !== undefined && `env-markers = ${quote(marker)}`,
    ...(index === undefined || url !== undefined ? [] : [`index = ${quote(index)}`]),
  );
  return `${key(name)} = ${fields.length === 1 && url === undefined ? quote(spec) : `{ ${fields.join(', ')} }`}`;
}

/** A name stands in a manifest once; pip takes the last of several, too. */
const once = (all: readonly Wanted[]): Wanted[] => [...new Map(all.map((one) => [one.name, one])).values()];

const hasTorch = ({ pypi, conda }: WantedSoftware): boolean =>
  pypi.some(({ name }) => name === 'torch') || conda.some(({ name }) => torchConda.test(name));

/** The environments of the manifest, the one for a pool first. */
export const environmentsOf = (software: WantedSoftware): string[] =>
  hasTorch(software) ? ['gpu', 'cpu'] : ['default'];

/** Old releases of PyTorch have no wheels for newer Pythons. */
function pythonOf({ python, pypi, conda }: WantedSoftware): string {
  const torch = [...pypi, ...conda].find(({ name }) => name === 'torch' || torchConda.test(name));
  return python ?? (/^[=~<]*1\./.test(torch?.spec ?? '') ? '3.9.*' : '3.11.*');
}

/** A Pixi manifest with the same packages. With PyTorch it has two environments, so that a CPU job fetches no CUDA. */
export function renderManifest(asked: WantedSoftware, name: string, source: string): string {
  const software = { ...asked, conda: once(asked.conda), pypi: once(asked.pypi) };
  const { conda, pypi, channels } = software;
  const plain = pypi.filter((one) => !torchWheels.test(one.name));
  const lines = [
    `# The software of the training, from ${source}. Made by: updraft env make`,
    '[workspace]',
    `name = ${quote(name)}`,
    `channels = [${[...new Set(['conda-forge', ...channels])].map(quote).join(', ')}]`,
    'platforms = ["linux-64"]',
    '',
    '[dependencies]',
    `python = ${quote(pythonOf(software))}`,
    ...conda.filter((one) => !torchConda.test(one.name)).map((one) => entry(one)),
    ...(plain.length === 0 ? [] : ['', '[pypi-dependencies]', ...plain.map((one) => entry(one))]),
    ...(hasTorch(software) ? torchLines(software) : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** One feature with PyTorch for CPUs, one with its build for CUDA and the driver that this needs. */
function torchLines({ conda, pypi, cuda }: WantedSoftware): string[] {
  const wheels = pypi.filter((one) => torchWheels.test(one.name));
  const [own] = conda.filter((one) => torchConda.test(one.name));
  const [major = '12', minor = '0'] = (cuda ?? '12').split('.');
  const index = (build: string): string => `https://download.pytorch.org/whl/${build}`;
  const feature = (device: 'cpu' | 'gpu', build: string | undefined): string[] => [
    ...(own === undefined
      ? []
      : ['', `[feature.${device}.dependencies]`, entry({ ...own, name: `pytorch-${device}` })]),
    ...(own === undefined || device === 'cpu' ? [] : [`cuda-version = ${quote(`${major}.*`)}`]),
    ...(wheels.length === 0
      ? []
      : [
          '',
          `[feature.${device}.pypi-dependencies]`,
          ...wheels.map((one) => entry(one, build && index(build))),
        ]),
  ];
  return [
    ...feature('cpu', 'cpu'),
    '',
    '# The minimum driver of the workers. Without it the solver would take a CPU build.',
    '[feature.gpu.system-requirements]',
    `cuda = ${quote(major)}`,
    ...feature('gpu', cuda === undefined ? undefined : `cu${major}${minor}`),
    '',
    '[environments]',
    'cpu = ["cpu"]',
    'gpu = ["gpu"]',
  ];
}
