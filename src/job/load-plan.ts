import { type Env, fileSize, mapLimited, stableJson } from '@updraft/base';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '@updraft/account/fault';
import type { JobValues } from './expand.ts';
import { isInside } from './inside.ts';
import { type Layer, layerOfSetting } from './layers.ts';
import { jobFileName } from '@updraft/account/run-folder';
import { FileProblem, listFiles, statIfExists } from './list-files.ts';
import { makePlan, type Plan, type PlanInput, type PlannedFile, withEnvironment } from './plan.ts';
import { checkSpec, matrixPlaces, notToml, type SpecVariant } from './read-spec.ts';
import { type DataPlaces, resolveData, resolveToken } from './resolve-data.ts';
import { resolveEnvironment } from './resolve-environment.ts';
import {
  type KeyPath,
  problemAt,
  type SourceFile,
  SpecFault,
  type SpecProblem,
  valueAt,
} from './source-file.ts';
import type { Spec } from './spec.ts';
import { planVariants } from './variants.ts';

export interface LoadOptions {
  /** Paths are resolved from here, and shown relative to it (default: the process's working directory). */
  cwd?: string;
  /** HOME replaces `~` in `token_file`; pixi is searched on the PATH. */
  env?: Env;
  /** Job files that override those before them; their paths are resolved from the first one's folder. */
  with?: string[];
  /** `key=value` settings that override all files. */
  set?: string[];
  /** Finds the file with a token for an object without `token_file`. */
  tokenFor?: (url: string) => Promise<string | undefined>;
  /** Finds the federations of objects that the user has confirmed. */
  confirmedFor?: (urls: string[]) => Promise<string[] | undefined>;
}

/** Reads a job file, or the one in a folder, and all it names; throws a `Fault` that lists every problem. */
export async function loadPlan(folderOrFile: string, options: LoadOptions = {}): Promise<Plan> {
  return (await loadJobFile(folderOrFile, options)).plan;
}

/** As `loadPlan`, with the source, which knows where each value was written. */
export async function loadJobFile(
  folderOrFile: string,
  options: LoadOptions = {},
): Promise<{ plan: Plan; source: SourceFile }> {
  const cwd = path.resolve(options.cwd ?? '.');
  const file = await findJobFile(path.resolve(cwd, folderOrFile));
  const folder = path.dirname(file);
  const layers = await readLayers(options, cwd);
  const reading = checkSpec(await readText(file), shownPath(cwd, file), layers);
  if ('problems' in reading) throw new SpecFault(reading.problems);
  const { variants, variedBy, source } = reading;
  const problems: SpecProblem[] = [];
  const { env = {}, tokenFor, confirmedFor } = options;
  const places = { folder, home: env['HOME'], tokenFor, confirmedFor, env };
  const inMatrix = matrixPlaces(source);
  const files = await collectFiles(variants, folder, (at, message, job) => {
    const problem = problemAt(source, at, message);
    problems.push(inMatrix(problem, job) ?? problem);
  });
  const resolve = resolver(source, places);
  const inputs = await mapLimited(variants, maxParallel, async ({ spec, jobs }) => {
    const own: SpecProblem[] = [];
    const resolved = await resolve(spec, own);
    problems.push(...own.map((problem) => inMatrix(problem, jobs[0]) ?? problem));
    return { ...resolved, jobs };
  });
  if (problems.length > 0) throw new SpecFault(problems);
  const [first, ...others] = inputs.map((input) => makePlan({ ...input, file, folder, files }));
  if (first === undefined) throw new SpecFault([problemAt(source, ['run'], 'has no jobs')]);
  const plan = planVariants([first, ...others], variedBy);
  const setsMemory = valueAt(source.value, ['resources', 'memory']) !== undefined;
  const overrides = {
    with: (options.with ?? []).map((one) => path.resolve(cwd, one)),
    set: options.set ?? [],
  };
  const hasOverrides = overrides.with.length + overrides.set.length > 0;
  const also = { ...(setsMemory && { isMemorySet: true as const }), ...(hasOverrides && { overrides }) };
  return { plan: { ...plan, ...also }, source };
}

const maxParallel = 16;

/** Finds what a spec names on this machine; what several variants name is looked up once. */
function resolver(source: SourceFile, places: DataPlaces & { env: Env }) {
  const known = new Map<string, Promise<unknown>>();
  const once = <T>(what: unknown, find: () => Promise<T>): Promise<T> => {
    const key = stableJson(what);
    const found = (known.get(key) as Promise<T> | undefined) ?? find();
    known.set(key, found);
    return found;
  };
  const setsMemory = valueAt(source.value, ['resources', 'memory']) !== undefined;
  return async (
    spec: Spec,
    problems: SpecProblem[],
  ): Promise<Omit<PlanInput, 'file' | 'folder' | 'files'>> => {
    const { environment: asked, resources } = spec;
    const data = await Promise.all(
      spec.data.map((one) => once(one, () => resolveData(one, source, places, problems))),
    );
    const environment = await once([asked, resources.gpus], () =>
      resolveEnvironment(spec, source, places, problems),
    );
    const { image, imageTokenFile: named, python } = asked;
    const imageToken = { file: named, url: image, at: ['environment', 'image_token_file'] };
    const imageTokenFile = await once(imageToken, () => resolveToken(imageToken, source, places, problems));
    const isOwn = environment?.fallback !== undefined;
    const imageBytes = isOwn || image === undefined ? 0 : await fileSize(path.resolve(places.folder, image));
    const planned = {
      ...spec,
      resources: withEnvironment(resources, environment, setsMemory),
      environment: isOwn ? { python, fallback: 'system' as const } : asked,
    };
    const urls = [image, ...[...data, environment?.pack].flatMap((one) => [one?.url, one?.manifest])];
    const confirmed = await places.confirmedFor?.(urls.filter((url) => url !== undefined));
    return { spec: planned, data, environment, imageTokenFile, imageBytes, confirmed };
  };
}

async function readLayers(options: LoadOptions, cwd: string): Promise<Layer[]> {
  const settings = (options.set ?? []).map(layerOfSetting);
  const files = (options.with ?? []).map((file) => path.resolve(cwd, file));
  const texts = files.map(async (file) => ({ file: shownPath(cwd, file), text: await readText(file) }));
  return [...(await Promise.all(texts)), ...settings];
}

/** As the user would type it: relative where that is shorter. */
function shownPath(cwd: string, file: string): string {
  const relative = path.relative(cwd, file);
  return relative.startsWith('..') ? file : relative;
}

async function readText(file: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (error) {
    const reason = error instanceof TypeError ? 'not UTF-8 text' : (error as Error).message;
    throw new Fault('file-invalid', `${file}: cannot be read: ${reason}`, { about: file, cause: error });
  }
}

async function collectFiles(
  variants: readonly SpecVariant[],
  folder: string,
  onProblem: (at: KeyPath, message: string, job: JobValues | undefined) => void,
): Promise<PlannedFile[]> {
  const found = new Map<string, PlannedFile>();
  const seen = new Set<string>();
  for (const { spec, jobs } of variants)
    for (const [at, entry] of filesOf(spec))
      try {
        if (seen.size === seen.add(JSON.stringify([at, entry])).size) continue;
        for (const one of await listFiles(folder, entry)) found.set(one.path, one);
      } catch (error) {
        if (!(error instanceof FileProblem)) throw error;
        onProblem(at, error.message, jobs[0]);
      }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The files beside the job file that a spec names, each with its key. */
function filesOf({ train, data, environment }: Spec): [KeyPath, string][] {
  const { pack, unpacker } = environment;
  const entries: [KeyPath, string][] = train.files.map((entry, index) => [['train', 'files', index], entry]);
  for (const { name, manifest } of data)
    if (manifest !== undefined && isInside(manifest) && !manifest.includes('://'))
      entries.push([['data', name, 'manifest'], manifest]);
  if (unpacker !== undefined) entries.push([['environment', 'pixi_unpack'], unpacker]);
  if (pack?.manifest?.includes('://') === false)
    entries.push([['environment', 'pack', 'manifest'], pack.manifest]);
  return entries;
}

/** The job file at a path: the file itself, or the one in the folder. */
async function findJobFile(folderOrFile: string): Promise<string> {
  const info = await statIfExists(folderOrFile);
  if (info === undefined)
    throw new Fault('file-invalid', `${folderOrFile}: no such file or folder`, {
      about: folderOrFile,
      fix: 'name a folder with an updraft.toml, or write one with: updraft init',
    });
  if (!info.isDirectory()) return folderOrFile;
  const names = await readdir(folderOrFile);
  if (names.includes(jobFileName)) return path.join(folderOrFile, jobFileName);
  const yaml = names.find((name) => /^updraft\.ya?ml$/.test(name));
  if (yaml !== undefined) throw notToml(path.join(folderOrFile, yaml));
  throw new Fault('file-invalid', `${folderOrFile} has no ${jobFileName}`, {
    about: folderOrFile,
    fix: 'write one with: updraft init',
  });
}
