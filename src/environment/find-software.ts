import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { getStaticTOMLValue, parseTOML } from 'toml-eslint-parser';
import { type Env, errorReason, isThere } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { yaml } from './pixi-lock.ts';
import {
  addCondaSpec,
  includedFiles,
  readCondaEnvironment,
  readInstalled,
  readPipRequirements,
  readProjectTables,
  type WantedSoftware,
} from './wanted-software.ts';

/** Where the software of a project is written down: a file, or the active environment of the shell. */
export interface SoftwareSource {
  kind: 'pixi' | 'requirements' | 'conda file' | 'pyproject' | 'venv' | 'conda';
  /** A path. */
  place: string;
}

const kinds: [RegExp, SoftwareSource['kind']][] = [
  [/^pixi\.toml$/, 'pixi'],
  [/^(environment|env|conda)\.ya?ml$/, 'conda file'],
  [/^requirements.*\.(txt|in)$/, 'requirements'],
  [/^pyproject\.toml$/, 'pyproject'],
];

/** What a file or folder that the user names is. */
export function sourceOf(place: string, isFolder: boolean): SoftwareSource {
  const name = path.basename(place);
  const kind = kinds.find(([pattern]) => pattern.test(name))?.[1];
  if (kind !== undefined) return { kind, place };
  if (isFolder) return { kind: 'venv', place };
  return { kind: /\.ya?ml$/.test(name) ? 'conda file' : 'requirements', place };
}

/** The best description of the software: a file of the project, or else what is active in the shell. */
export async function findSoftware(folder: string, env: Env): Promise<SoftwareSource | undefined> {
  const names = (await readdir(folder).catch((): string[] => [])).sort();
  for (const [pattern, kind] of kinds) {
    const name = names.find((one) => pattern.test(one));
    const place = path.join(folder, name ?? '');
    if (name === undefined) continue;
    if (kind !== 'pyproject') return { kind, place };
    const text = await readFile(place, 'utf8').catch(() => '');
    if (/^\[tool\.pixi\b/m.test(text)) return { kind: 'pixi', place };
    if (/^dependencies\s*=|^\[tool\.poetry\.dependencies\]/m.test(text)) return { kind, place };
  }
  const { VIRTUAL_ENV: venv, CONDA_PREFIX: conda } = env;
  if (venv !== undefined && venv !== '') return { kind: 'venv', place: venv };
  // The base environment holds conda itself, not a project's software.
  return conda !== undefined && conda !== '' && env['CONDA_DEFAULT_ENV'] !== 'base'
    ? { kind: 'conda', place: conda }
    : undefined;
}

/** Reads the software that a source describes; nothing is run. */
export async function readSoftware({ kind, place }: SoftwareSource): Promise<WantedSoftware> {
  try {
    if (kind === 'venv') return await readVenv(place);
    if (kind === 'conda') return await readConda(place);
    const text = await readFile(place, 'utf8');
    if (kind === 'conda file') return readCondaEnvironment(yaml().parse(text, { maxAliasCount: 0 }));
    if (kind === 'pyproject') return readProjectTables(getStaticTOMLValue(parseTOML(text)));
    const included = await Promise.all(
      includedFiles(text).map(async (file) => await readFile(path.join(path.dirname(place), file), 'utf8')),
    );
    return readPipRequirements([text, ...included].join('\n'));
  } catch (error) {
    throw new Fault('file-invalid', `cannot read the software in ${place}: ${errorReason(error)}`, {
      about: place,
      fix: 'name requirements.txt, environment.yml, pyproject.toml, or the folder of a virtual environment',
      cause: error,
    });
  }
}

async function readVenv(folder: string): Promise<WantedSoftware> {
  const lib = path.join(folder, 'lib');
  const python = (await readdir(lib)).find((name) => /^python3\.\d+$/.test(name));
  if (python === undefined) throw new Error('it has no lib/python3.…: it is not a virtual environment');
  const packages = await readdir(path.join(lib, python, 'site-packages'));
  return readInstalled(packages, python.replace('python', ''));
}

/** What was asked for, at the versions that are installed; and what pip added. */
async function readConda(prefix: string): Promise<WantedSoftware> {
  const meta = path.join(prefix, 'conda-meta');
  const installed = new Map(
    (await readdir(meta)).flatMap((name): [string, string][] => {
      const [, known, version] = /^(.+)-([^-]+)-[^-]+\.json$/.exec(name) ?? [];
      return known === undefined || version === undefined ? [] : [[known, version]];
    }),
  );
  const history = await readFile(path.join(meta, 'history'), 'utf8').catch(() => '');
  const asked = [...history.matchAll(/^# (?:update|install) specs: (.*)$/gm)].flatMap(([, list = '']) =>
    [...list.matchAll(/["'](?:[^"'\s:]+::)?([\w.-]+)/g)].map(([, name = '']) => name),
  );
  const venv = (await isThere(path.join(prefix, 'lib')))
    ? await readVenv(prefix).catch(() => undefined)
    : undefined;
  const software = readCondaEnvironment({});
  for (const name of new Set(asked)) {
    const version = installed.get(name);
    if (version !== undefined) addCondaSpec(software, `${name}=${version}`);
  }
  const isConda = (name: string): boolean =>
    installed.has(name) || (name === 'torch' && installed.has('pytorch'));
  software.pypi = (venv?.pypi ?? []).filter(({ name }) => !isConda(name));
  return software;
}
