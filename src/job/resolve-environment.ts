import { stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { counted } from '../base/counted.ts';
import { defined } from '../base/defined.ts';
import type { Env } from '../base/env.ts';
import { isThere } from '../base/error-reason.ts';
import { findProgram } from '../base/find-program.ts';
import { shellQuote } from '../base/shell-quote.ts';
import type { EnvironmentFacts } from '../environment/describe-environment.ts';
import { describeLocked, loadWorkspace, lockName, type Workspace } from '../environment/load-workspace.ts';
import { programSources } from '../environment/pixi-tools.ts';
import type { Delivery } from '../environment/size-environment.ts';
import { Fault } from '../fault/fault.ts';
import { chooseMethod } from './choose-method.ts';
import { environmentSize, type Fallback, packName, type PlannedEnvironment } from './plan.ts';
import { poolTraits } from './pool-traits.ts';
import { type KeyPath, problemAt, type SourceFile, type SpecProblem } from './source-file.ts';
import type { DataSource, PackSource, Spec } from './spec.ts';

/** Reads what `[environment]` names; adds what is wrong with it to `problems`. */
export async function resolveEnvironment(
  spec: Spec,
  source: SourceFile,
  places: DataPlaces & { env: Env },
  problems: SpecProblem[],
): Promise<PlannedEnvironment | undefined> {
  const { pixi, pack: named, delivery: said, fallback: allowed } = spec.environment;
  if (pixi === undefined && named === undefined) return undefined;
  const delivery = said ?? (named === undefined ? 'container' : 'pack');
  const { runsHere, title } = poolTraits[spec.run.pool];
  if (delivery === 'install' && !runsHere)
    problems.push(problemAt(source, ['environment', 'delivery'], pixiMissing(title)));
  const fallback =
    allowed && runsHere ? await workspaceMissing(pixi?.manifest ?? '', delivery, places) : undefined;
  if (fallback !== undefined) return { delivery, fallback };
  const facts = await readFacts(spec, source, places.folder, problems);
  const pack = named === undefined ? undefined : await resolvePack(named, source, places, problems);
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
  source: SourceFile,
  folder: string,
  problems: SpecProblem[],
): Promise<EnvironmentFacts | undefined> {
  const { pixi } = spec.environment;
  if (pixi === undefined) return undefined;
  try {
    const workspace = await loadWorkspace(path.join(folder, pixi.manifest));
    const facts = describeLocked(workspace, pixi.environment, pixi.platform);
    if (spec.resources.gpus > 0 && facts.torch?.build === 'cpu')
      problems.push(problemAt(source, ['environment', 'pixi_environment'], cpuOnGpu(spec, facts, workspace)));
    return facts;
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    const fix = thrown.fix === undefined ? '' : ` (${thrown.fix})`;
    problems.push(problemAt(source, ['environment', 'pixi'], `${thrown.message}${fix}`));
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
      ? `no environment in the lock file has a GPU build; declare CUDA (platforms = [{ platform = "${subdir}", cuda = "12" }]) and lock again`
      : `expected one with a GPU build: ${forGpus.join(', ')}`;
  return `"${name}" has a CPU build of PyTorch ${version}, and the job requests ${counted(resources.gpus, 'GPU')}; ${other}`;
}

function isForGpus(workspace: Workspace, environment: string, platform: string): boolean {
  try {
    return describeLocked(workspace, environment, platform).torch?.build === 'gpu';
  } catch {
    return false;
  }
}

/** The archive as a data source: a path beside the job file becomes a file:// URL. */
async function resolvePack(
  pack: PackSource,
  source: SourceFile,
  places: DataPlaces,
  problems: SpecProblem[],
): Promise<DataSource> {
  const { url, bytes, ...proof } = pack;
  const at = ['environment', 'pack'];
  const file = url.includes('://') ? undefined : path.join(places.folder, url);
  const size = file === undefined ? bytes : await fileSize(file);
  if (file !== undefined && size === undefined)
    problems.push(problemAt(source, at, `${file} does not exist; make it with: updraft env pack`));
  const data: DataSource = {
    name: packName,
    url: file === undefined ? url : pathToFileURL(file).href,
    into: 'environment',
    unpack: 'none',
    method: 'auto',
    expect: size === undefined ? {} : { bytes: size },
    ...proof,
  };
  // A missing file was reported above.
  return await resolveData(data, source, places, file === undefined ? problems : []);
}

interface DataPlaces {
  /** Folder of the job file. */
  folder: string;
  home: string | undefined;
  tokenFor?: ((url: string) => Promise<string | undefined>) | undefined;
}

/** Makes the paths of a data source absolute; adds files that are missing on this machine to `problems`. */
export async function resolveData(
  data: DataSource,
  source: SourceFile,
  places: DataPlaces,
  problems: SpecProblem[],
): Promise<DataSource> {
  if (/^file:/i.test(data.url) && (await fileSize(localPath(data.url))) === undefined) {
    const message = `${data.url} does not exist; expected a file on this machine, like "file:///home/me/data.tar"`;
    problems.push(problemAt(source, ['data', data.name, 'url'], message));
  }
  const named = { file: data.tokenFile, url: data.url, at: ['data', data.name, 'token_file'] };
  const tokenFile = await resolveToken(named, source, places, problems);
  return { ...data, ...defined({ tokenFile }) };
}

/** The absolute path of a token's file: the one that the job file names, or else the login for the object. */
export async function resolveToken(
  { file, url, at }: { file: string | undefined; url: string | undefined; at: KeyPath },
  source: SourceFile,
  { folder, home, tokenFor }: DataPlaces,
  problems: SpecProblem[],
): Promise<string | undefined> {
  if (file === undefined) return url === undefined ? undefined : await tokenFor?.(url);
  const plain = home === undefined ? file : file.replace(/^~(?=\/)/, () => home);
  const tokenFile = path.resolve(folder, plain);
  if ((await fileSize(tokenFile)) === undefined)
    problems.push(problemAt(source, at, `${tokenFile} does not exist; expected a file with the token`));
  return tokenFile;
}

/** The sizes of the data sources that are files on this machine, by name. */
export async function localBytes(data: readonly DataSource[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const { name, url } of data) {
    const size = /^file:/i.test(url) ? await fileSize(localPath(url)) : undefined;
    if (size !== undefined) sizes.set(name, size);
  }
  return sizes;
}

/** The size of a file on this machine; undefined for anything else. */
export async function fileSize(file: string | undefined): Promise<number | undefined> {
  const info = file === undefined ? undefined : await stat(file).catch(() => undefined);
  return info?.isFile() === true ? info.size : undefined;
}

/** Undefined for a URL that names another host. */
function localPath(url: string): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    return undefined;
  }
}
