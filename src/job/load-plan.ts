import {
  type Env,
  fileSize,
  mapLimited,
  stableJson,
  counted,
  defined,
  findProgram,
  isThere,
  shellQuote,
  tried,
  errorReason,
  isGone,
} from '@updraft/base';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '@updraft/account/fault';
import type { JobValues } from './expand.ts';
import { isInside, isLocal, isPath } from './inside.ts';
import { type Layer, layerOfSetting } from './layers.ts';
import { jobFileNames } from '@updraft/account/run-folder';
import { FileProblem, listFiles, statIfExists } from './list-files.ts';
import {
  makePlan,
  type Plan,
  type PlanInput,
  type PlannedFile,
  withEnvironment,
  environmentSize,
  type Fallback,
  packName,
  type PlannedEnvironment,
} from './plan.ts';
import { checkSpec, matrixPlaces, type SpecVariant } from './read-spec.ts';
import {
  FileProblems,
  type KeyPath,
  problemAt,
  type SourceFile,
  SpecFault,
  type SpecProblem,
  valueAt,
} from './source-file.ts';
import type { Spec, DataSource, PackSource, LocalData, ResolvedData } from './spec.ts';
import { planVariants } from './variants.ts';
import { pathToFileURL, fileURLToPath } from 'node:url';
import type { EnvironmentFacts, Delivery } from '../environment/describe-environment.ts';
import { describeLocked, loadWorkspace, lockName, type Workspace } from '../environment/load-workspace.ts';
import { programSources } from '../environment/pixi-tools.ts';
import { chooseMethod } from './choose-method.ts';
import { poolTraits } from './pool-traits.ts';

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
  const add = (found: readonly SpecProblem[], job: JobValues | undefined): void =>
    void problems.push(...found.map((problem) => inMatrix(problem, job) ?? problem));
  const { env = {}, tokenFor, confirmedFor } = options;
  const places = { folder, home: env['HOME'], tokenFor, confirmedFor, env };
  const inMatrix = matrixPlaces(source);
  const files = await collectFiles(variants, folder, (at, message, job) =>
    add([problemAt(source, at, message)], job),
  );
  const resolve = resolver(places);
  const inputs = await mapLimited(variants, maxParallel, async ({ spec, jobs }) => {
    const wrong = new FileProblems(source);
    const resolved = await resolve(spec, wrong);
    add(wrong.found, jobs[0]);
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
function resolver(places: DataPlaces & { env: Env }) {
  const known = new Map<string, Promise<unknown>>();
  const once = <T>(what: unknown, find: () => Promise<T>): Promise<T> => {
    const key = stableJson(what);
    const found = (known.get(key) as Promise<T> | undefined) ?? find();
    known.set(key, found);
    return found;
  };
  return async (spec: Spec, wrong: FileProblems): Promise<Omit<PlanInput, 'file' | 'folder' | 'files'>> => {
    const { environment: asked, resources } = spec;
    const data = await Promise.all(spec.data.map((one) => once(one, () => resolveData(one, places, wrong))));
    const environment = await once([asked, resources.gpus], () => resolveEnvironment(spec, places, wrong));
    const { image, imageTokenFile: named, python } = asked;
    const imageToken = { file: named, url: image, at: ['environment', 'image_token_file'] };
    const imageTokenFile = await once(imageToken, () => resolveToken(imageToken, places, wrong));
    const isOwn = environment?.fallback !== undefined;
    const imageBytes = isOwn || image === undefined ? 0 : await fileSize(path.resolve(places.folder, image));
    const planned = {
      ...spec,
      resources: withEnvironment(resources, environment),
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
function filesOf({ train, data, environment, search }: Spec): [KeyPath, string][] {
  const { pack, unpacker } = environment;
  const entries: [KeyPath, string][] = train.files.map((entry, index) => [['train', 'files', index], entry]);
  for (const { name, manifest } of data)
    if (manifest !== undefined && isInside(manifest) && !manifest.includes('://'))
      entries.push([['data', name, 'manifest'], manifest]);
  if (search?.sampler !== undefined) entries.push([['search', 'sampler'], search.sampler]);
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
  const [only, second] = jobFileNames.filter((name) => names.includes(name));
  const about = folderOrFile;
  if (only === undefined)
    throw new Fault('file-invalid', `${about} has no ${jobFileNames.join(' or ')}`, {
      about,
      fix: 'write one with: updraft init',
    });
  if (second !== undefined)
    throw new Fault('file-invalid', `${about} has more than one job file: ${only} and ${second}`, {
      about,
      fix: 'keep one of them, or name it',
    });
  return path.join(folderOrFile, only);
}

/** Reads what `[environment]` names; adds what is wrong with it. */
async function resolveEnvironment(
  spec: Spec,
  places: DataPlaces & { env: Env },
  wrong: FileProblems,
): Promise<PlannedEnvironment | undefined> {
  const { pixi, pack: named, delivery: said, fallback: allowed } = spec.environment;
  if (pixi === undefined && named === undefined) return undefined;
  const delivery = said ?? (named === undefined ? 'container' : 'pack');
  const { runsHere, title } = poolTraits[spec.run.pool];
  if (delivery === 'install' && !runsHere) wrong.say(pixiMissing(title), 'environment', 'delivery');
  const fallback =
    allowed && runsHere ? await workspaceMissing(pixi?.manifest ?? '', delivery, places) : undefined;
  if (fallback !== undefined) return { delivery, fallback };
  const facts = await readFacts(spec, places.folder, wrong);
  const pack = named === undefined ? undefined : await resolvePack(named, places, wrong);
  const size = environmentSize(delivery, facts, pack);
  return {
    delivery,
    ...defined({ facts, size }),
    ...(pack !== undefined && { pack: { ...pack, ...chooseMethod(pack, spec.run.pool) } }),
  };
}

const pixiMissing = (title: string): string =>
  `"install" is for the pool "local": ${title} has neither Pixi nor the workspace; expected "pack" or "container"`;

/** Why an environment is not available on this machine, and the fix; undefined if it is. */
async function workspaceMissing(
  manifest: string,
  delivery: Delivery,
  { folder, env }: { folder: string; env: Env },
): Promise<Fallback | undefined> {
  const workspace = path.dirname(manifest);
  const lock = path.join(workspace, lockName);
  const argument = workspace === '.' ? '' : ` ${shellQuote(workspace)}`;
  if (!(await isThere(path.join(folder, lock))))
    return {
      why: `${lock} does not exist`,
      fix: `write it with: updraft env lock${argument}`,
      unlocked: path.join(folder, manifest),
    };
  if (delivery !== 'install' || (await findProgram(['pixi'], env)) !== undefined) return undefined;
  return { why: 'pixi is not on the PATH', fix: programSources.pixi };
}

async function readFacts(
  spec: Spec,
  folder: string,
  wrong: FileProblems,
): Promise<EnvironmentFacts | undefined> {
  const { pixi } = spec.environment;
  if (pixi === undefined) return undefined;
  try {
    const workspace = await loadWorkspace(path.join(folder, pixi.manifest));
    const facts = describeLocked(workspace, pixi.environment, pixi.platform);
    if (spec.resources.gpus > 0 && facts.torch?.build === 'cpu')
      wrong.say(cpuOnGpu(spec, facts, workspace), 'environment', 'pixi_environment');
    return facts;
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    const fix = thrown.fix === undefined ? '' : ` (${thrown.fix})`;
    wrong.say(`${thrown.message}${fix}`, 'environment', 'pixi');
    return undefined;
  }
}

function cpuOnGpu(
  { environment, resources }: Spec,
  { torch, subdir }: EnvironmentFacts,
  workspace: Workspace,
): string {
  const { environment: name = '' } = environment.pixi ?? {};
  const version = torch?.version ?? '';
  const forGpus = [...workspace.lock.environments].flatMap(([one, { platforms }]) =>
    platforms
      .filter((platform) => platform.subdir === subdir && isForGpus(workspace, one, platform.name))
      .map((platform) =>
        platform.name === subdir ? `"${one}"` : `"${one}" with platform = "${platform.name}"`,
      ),
  );
  const other =
    forGpus.length === 0
      ? 'no environment in the lock file has a GPU build; declare CUDA ' +
        `(platforms = [{ platform = "${subdir}", cuda = "12" }]) and lock again`
      : `expected one with a GPU build: ${forGpus.join(', ')}`;
  return (
    `"${name}" has a CPU build of PyTorch ${version}, ` +
    `and the job requests ${counted(resources.gpus, 'GPU')}; ${other}`
  );
}

const isForGpus = (workspace: Workspace, environment: string, platform: string): boolean =>
  tried(() => describeLocked(workspace, environment, platform).torch?.build === 'gpu') ?? false;

/** The archive as a data source: a path beside the job file becomes a file:// URL. */
async function resolvePack(pack: PackSource, places: DataPlaces, wrong: FileProblems): Promise<DataSource> {
  const { url, bytes, ...proof } = pack;
  const file = url.includes('://') ? undefined : path.join(places.folder, url);
  const size = file === undefined ? bytes : await fileSize(file);
  const data: DataSource = {
    name: packName,
    url: file === undefined ? url : pathToFileURL(file).href,
    into: 'environment',
    unpack: 'none',
    method: 'auto',
    expect: defined({ bytes: size }),
    ...proof,
  };
  if (file === undefined || size !== undefined) return await resolveData(data, places, wrong);
  wrong.say(`${file} does not exist; make it with: updraft env pack`, 'environment', 'pack');
  return data;
}

interface DataPlaces {
  /** Folder of the job file. */
  folder: string;
  home: string | undefined;
  tokenFor?: ((url: string) => Promise<string | undefined>) | undefined;
  confirmedFor?: ((urls: string[]) => Promise<string[] | undefined>) | undefined;
}

/** Makes the paths of a data source absolute; adds what is missing or unusable on this machine. */
async function resolveData(data: DataSource, places: DataPlaces, wrong: FileProblems): Promise<ResolvedData> {
  const named = { file: data.tokenFile, url: data.url, at: ['data', data.name, 'token_file'] };
  const tokenFile = await resolveToken(named, places, wrong);
  const resolved = { ...data, ...defined({ tokenFile }) };
  if (!isLocal(data.url)) return resolved;
  const file = localPath(data.url, places);
  try {
    const { expect, ...here } = await inspect(file, data, places);
    if (here.isFolder) checkFolder(data, expect.files ?? 0, wrong);
    return {
      ...resolved,
      url: pathToFileURL(file ?? '').href,
      ...(here.isFolder && { unpack: 'tar' as const, expect }),
      here,
    };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const fix = error.fix === undefined ? '' : `; ${error.fix}`;
    wrong.say(`${error.message}${fix}`, 'data', data.name, 'url');
    return resolved;
  }
}

const expectedHere =
  'expected a file or folder on this machine, like "images/" or "file:///home/me/data.tar"';

async function inspect(
  file: string | undefined,
  { url, expect }: DataSource,
  { folder }: DataPlaces,
): Promise<LocalData & Pick<DataSource, 'expect'>> {
  if (file === undefined)
    throw new Fault('file-invalid', `${url} is on another machine`, { fix: expectedHere });
  const info = await stat(file).catch((error: unknown) => {
    const what = isGone(error) ? 'does not exist' : `cannot be read: ${errorReason(error)}`;
    throw new Fault('file-invalid', `${file} ${what}`, { fix: expectedHere });
  });
  if (info.isFile()) return { bytes: info.size, fingerprint: `${info.size} ${info.mtimeMs}`, expect };
  if (!info.isDirectory())
    throw new Fault('file-invalid', `${file} is neither a file nor a folder`, { fix: 'name one of them' });
  const [inner, outer] = await Promise.all(
    [folder, file].map(async (one) => path.join(await realpath(one), '/')),
  );
  if (inner?.startsWith(outer ?? ''))
    throw new Fault('file-invalid', `${file} contains this job file and its runs`, {
      fix: 'put the data into a folder of its own, and name that',
    });
  return await inspectFolder(file);
}

/** Reads no file: names, sizes and times make the fingerprint. */
async function inspectFolder(folder: string): Promise<LocalData & Pick<DataSource, 'expect'>> {
  const { describeFolder } = await import('../stage/folder.ts');
  const { shard, count, fingerprint } = await describeFolder(await realpath(folder));
  if (count === 0)
    throw new Fault('file-invalid', `${folder} is an empty folder`, { fix: 'name one with files' });
  return { isFolder: true, bytes: shard.bytes, fingerprint, expect: { files: count, bytes: shard.bytes } };
}

/** Keys that only an archive can have, and a number of files that differs. */
function checkFolder(
  { name, expect: { files: declared } }: DataSource,
  files: number,
  wrong: FileProblems,
): void {
  for (const key of [['unpack'], ['sha256'], ['manifest'], ['expect', 'bytes']])
    if (wrong.has('data', name, ...key))
      wrong.sayOfKey(
        'only applies to an archive; remove it: Updraft packs and verifies a folder itself',
        ...['data', name, ...key],
      );
  if (declared !== undefined && declared !== files)
    wrong.say(
      `is ${declared}, but the folder has ${counted(files, 'file')}`,
      'data',
      name,
      'expect',
      'files',
    );
}

/** The absolute path of a token's file: the one that the job file names, or else the login for the object. */
async function resolveToken(
  { file, url, at }: { file: string | undefined; url: string | undefined; at: KeyPath },
  places: DataPlaces,
  wrong: FileProblems,
): Promise<string | undefined> {
  if (file === undefined) return url === undefined ? undefined : await places.tokenFor?.(url);
  const tokenFile = absolute(file, places);
  if ((await fileSize(tokenFile)) === undefined)
    wrong.say(`${tokenFile} does not exist; expected a file with the token`, ...at);
  return tokenFile;
}

const absolute = (file: string, { folder, home }: DataPlaces): string =>
  path.resolve(folder, home === undefined ? file : file.replace(/^~(?=\/|$)/, () => home));

/** Undefined for a URL that names another host. */
function localPath(url: string, places: DataPlaces): string | undefined {
  if (isPath(url)) return absolute(url, places);
  return tried(() => path.resolve(fileURLToPath(url)));
}
