import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { counted, defined, type Env, fileSize, findProgram, isThere, shellQuote, tried } from '@updraft/base';
import type { EnvironmentFacts, Delivery } from '../environment/describe-environment.ts';
import { describeLocked, loadWorkspace, lockName, type Workspace } from '../environment/load-workspace.ts';
import { programSources } from '../environment/pixi-tools.ts';
import { Fault } from '@updraft/account/fault';
import { chooseMethod } from './choose-method.ts';
import { environmentSize, type Fallback, packName, type PlannedEnvironment } from './plan.ts';
import { poolTraits } from './pool-traits.ts';
import { type DataPlaces, resolveData } from './resolve-data.ts';
import { problemAt, type SourceFile, type SpecProblem } from './source-file.ts';
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
