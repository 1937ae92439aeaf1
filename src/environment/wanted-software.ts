import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { getStaticTOMLValue, parseTOML } from 'toml-eslint-parser';
import { defined, errorReason } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { yaml } from './pixi-lock.ts';

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

/** The best description of the software in a folder. */
export async function findSoftware(folder: string): Promise<SoftwareSource | undefined> {
  const names = (await readdir(folder).catch((): string[] => [])).sort();
  for (const [pattern, kind] of kinds) {
    const name = names.find((one) => pattern.test(one));
    const place = path.join(folder, name ?? '');
    if (name === undefined) continue;
    if (kind !== 'pyproject') return { kind, place };
    const text = await readFile(place, 'utf8').catch(() => '');
    if (/^\[tool\.pixi\b/m.test(text)) return { kind: 'pixi', place };
    if (/^dependencies\s*=/m.test(text)) return { kind, place };
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

/** Reads the dependencies in a `pyproject.toml`. */
export function readProjectTables({ project }: Record<string, unknown>): WantedSoftware {
  const software = noSoftware();
  const { dependencies, 'requires-python': python } = (project ?? {}) as Record<string, unknown>;
  if (typeof python === 'string') software.python = python;
  for (const text of Array.isArray(dependencies) ? (dependencies as unknown[]) : [])
    if (typeof text === 'string') addRequirement(software, text);
  return software;
}

/** PyTorch and what is built for one version of it. */
const torchWheels = /^(torch|torchvision|torchaudio|torchtext)$/;
const torchConda = /^(pytorch|pytorch-gpu|pytorch-cpu|torch)$/;

const quote = (text: string): string => JSON.stringify(text);
const key = (name: string): string => (/^[\w-]+$/.test(name) ? name : quote(name));

function entry({ name, spec, extras, marker, url }: Wanted, index?: string): string {
  const fields = [
    url === undefined ? `version = ${quote(spec)}` : `url = ${quote(url)}`,
    ...(extras === undefined ? [] : [`extras = [${extras.map(quote).join(', ')}]`]),
    ...(marker === undefined ? [] : [`env-markers = ${quote(marker)}`]),
    ...(index === undefined || url !== undefined ? [] : [`index = ${quote(index)}`]),
  ];
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
