import { createHash, randomBytes } from 'node:crypto';
import {
  chmod,
  copyFile,
  mkdir,
  readdir,
  readFile,
  rename,
  stat,
  writeFile,
  link,
  realpath,
  rm,
} from 'node:fs/promises';
import path from 'node:path';
import { type Clock, errorReason, isProgram, counted, defined, formatSize, succeeds } from '@updraft/base';
import { acquireLease, identifyProcess, withLease } from '@updraft/base/processes';
import { removeTree, replaceFile } from '@updraft/base/disk';
import { Fault } from '@updraft/account/fault';
import { isFull, runFiles, runFolderFull, runsFolder } from '@updraft/account/run-folder';
import { openJournal } from '@updraft/account/journal';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Plan, PlannedData } from '../job/plan.ts';
import { poolTraits } from '../job/pool-traits.ts';
import { joinVariants, variantsOf } from '../job/variants.ts';
import { readPlan } from '../pool/pool.ts';
import { describeFolder } from '../stage/folder.ts';
import { writeTar } from '../stage/shards.ts';

/** The lease of the process that creates a run. */
const leaseName = '.creating';

/** Hidden, so that it is not taken for a run before it is complete. */
const draftFolder = ({ folder }: Plan, run: string): string => path.join(folder, runsFolder, draftName(run));

export const newRunName = ({ spec }: Plan, clock: Clock): string => `${spec.name}-${newId(clock)}`;

/** Runs `action` while no other process in the folder does: the same command given twice creates one run. */
export async function withCreationLease<T>(
  { folder }: Plan,
  { pid, clock }: { pid: number; clock: Clock },
  action: () => Promise<T>,
): Promise<T> {
  const self = identifyProcess(pid);
  // Without /proc, other processes cannot be recognized and waited for.
  if (self === undefined) return await action();
  const runs = path.join(folder, runsFolder);
  const lease = path.join(runs, leaseName);
  await mkdir(lease, { recursive: true }).catch((error: unknown) => {
    throw cannotCreate(runs, error);
  });
  return await withLease(lease, self, clock, async () => {
    await removeDrafts(runs);
    return await action();
  });
}

/** The hidden name of a folder that is being made or removed. */
export const draftName = (run: string): string => `.${run}.draft`;
const draftPattern = /^\..+\.draft$/;

/** Removes what a killed command left while it created a run; call it under the lease. */
async function removeDrafts(runs: string): Promise<void> {
  const drafts = (await readdir(runs).catch(() => [])).filter((name) => draftPattern.test(name));
  for (const name of drafts) await removeTree(path.join(runs, name)).catch(() => undefined);
}

/** The same for commands that only read: does nothing while another process creates a run. */
export async function sweepDrafts(runs: string, pid: number): Promise<void> {
  const self = identifyProcess(pid);
  const names = await readdir(runs).catch(() => []);
  if (self === undefined || !names.some((name) => draftPattern.test(name))) return;
  const lease = await acquireLease(path.join(runs, leaseName), self).catch(() => undefined);
  if (lease === undefined) return;
  await removeDrafts(runs);
  await lease.release();
}

/** Creates the folder of a run atomically: plan, copies of files, what the pool rendered, journal. Returns its path. */
export async function createRun(
  plan: Plan,
  rendered: Record<string, string>,
  version: string,
  clock: Clock,
  run = newRunName(plan, clock),
  canary?: number[],
): Promise<string> {
  const runs = path.join(plan.folder, runsFolder);
  const draft = draftFolder(plan, run);
  try {
    // Whatever the umask, only the owner may change what runs with the owner's secrets.
    await mkdir(draft, { recursive: true, mode: 0o755 });
    await writePlan(draft, plan);
    await mkdir(path.join(draft, runFiles.jobs), { mode: 0o700 });
    await writeRendered(draft, rendered);
    await copyFiles(plan, path.join(draft, runFiles.files));
    const { planHash, spec } = plan;
    const file = path.join(draft, runFiles.journal);
    await using journal = await openJournal(file, clock, poolTraits[spec.run.pool].runsHere);
    const jobs = plan.jobs.map(({ id }) => id);
    const { name } = spec;
    await journal.append({ kind: 'run-created', run, name, pool: spec.run.pool, jobs, planHash, version });
    if (canary !== undefined) await journal.append({ kind: 'canary-set', rungs: canary });
    await rename(draft, path.join(runs, run));
    return path.join(runs, run);
  } catch (error) {
    // The user must see the first error.
    await removeTree(draft).catch(() => undefined);
    throw error instanceof Fault && !isFull(error) ? error : cannotCreate(runs, error);
  }
}

/** Writes the plan of a run, or replaces it atomically. */
export async function writePlan(folder: string, plan: Plan): Promise<void> {
  const text = `${JSON.stringify(plan, undefined, 2)}\n`;
  await replaceFile(path.join(folder, runFiles.plan), text, { flush: true, mode: 0o600 });
}

/** UTC date and time to sort by, and four hexadecimal digits to distinguish runs of the same second. */
function newId(clock: Clock): string {
  const [date = '', time = ''] = new Date(clock.now()).toISOString().split(/[T.]/);
  return `${date.replaceAll('-', '')}T${time.replaceAll(':', '')}_${randomBytes(2).toString('hex')}`;
}

function cannotCreate(runs: string, error: unknown): Fault {
  if (isFull(error)) return runFolderFull({ what: `cannot create a run in ${runs}`, folder: runs, error });
  return new Fault('file-invalid', `cannot create a run in ${runs}: ${errorReason(error)}`, {
    fix: `make ${runs} a folder you can write to`,
    about: runs,
    cause: error,
  });
}

/** Writes what a pool rendered, by path. Scripts become executable; folders are private: jobs' output goes there. */
export async function writeRendered(folder: string, rendered: Record<string, string>): Promise<void> {
  const folders = new Set(Object.keys(rendered).map((name) => path.dirname(path.join(folder, name))));
  for (const one of folders) await mkdir(one, { recursive: true, mode: 0o700 });
  for (const [name, text] of Object.entries(rendered))
    await writeFile(path.join(folder, name), text, { mode: text.startsWith('#!') ? 0o755 : 0o600 });
}

/** Copies a plan's files, programs executable as HTCondor makes them; throws if one changed since the plan was made. */
export async function copyFiles(plan: Pick<Plan, 'files' | 'folder'>, to: string): Promise<void> {
  await mkdir(to, { mode: 0o755 });
  for (const file of plan.files) {
    const copy = path.join(to, file.path);
    await mkdir(path.dirname(copy), { recursive: true, mode: 0o755 });
    await copyFile(path.join(plan.folder, file.path), copy);
    const bytes = await readFile(copy);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if (sha256 !== file.sha256)
      throw new Fault('file-invalid', `${file.path} changed while it was being copied`, {
        fix: 'run the same command again',
        about: file.path,
      });
    if (isProgram(bytes)) await chmod(copy, ((await stat(copy)).mode & 0o777) | 0o111);
  }
}

export interface PackOptions {
  signal?: AbortSignal | undefined;
  /** Called with a line for each folder that is packed: it may take minutes. */
  say?: ((line: string) => void) | undefined;
}

/** Runs `action` with a plan whose folders of data are archives in the run's folder; none is left if it fails. */
export async function withPackedData<T>(
  plan: Plan,
  run: string,
  options: PackOptions,
  action: (packed: Plan) => Promise<T>,
): Promise<T> {
  try {
    const packed = new Map<string, Promise<PlannedData>>();
    const variants: Plan[] = [];
    for (const variant of variantsOf(plan)) {
      const data: PlannedData[] = [];
      for (const source of variant.data) data.push(await packedSource(plan, run, source, options, packed));
      variants.push({ ...variant, data });
    }
    return await action(joinVariants(plan, variants));
  } catch (error) {
    await removeTree(draftFolder(plan, run)).catch(() => undefined);
    throw error;
  }
}

/** Data as its jobs get it: a folder as an archive, made once for all of them. */
async function packedSource(
  plan: Plan,
  run: string,
  source: PlannedData,
  options: PackOptions,
  packed: Map<string, Promise<PlannedData>>,
): Promise<PlannedData> {
  if (!source.here?.isFolder) return source;
  const key = JSON.stringify([source.name, source.url]);
  const archive = packed.get(key) ?? packOnce(plan, run, source, options);
  packed.set(key, archive);
  const { sha256, url } = await archive;
  return { ...source, url, ...defined({ sha256 }) };
}

/** Links the archive of an earlier run if the folder has not changed since; then they share the disk. */
async function packOnce(
  plan: Plan,
  run: string,
  source: PlannedData,
  options: PackOptions,
): Promise<PlannedData> {
  const fingerprint = source.here?.fingerprint ?? '';
  const file = path.join(runFiles.data, `${source.name}-${fingerprint.slice(0, 16)}.tar`);
  const draft = path.join(draftFolder(plan, run), file);
  await mkdir(path.dirname(draft), { recursive: true, mode: 0o755 });
  const sha256 = (await linkEarlier(plan, source, file, draft)) ?? (await pack(source, draft, options));
  return { ...source, sha256, url: pathToFileURL(path.join(plan.folder, runsFolder, run, file)).href };
}

/** The archive's SHA-256; undefined if no run has the archive. */
async function linkEarlier(
  { folder }: Plan,
  { name, here }: PlannedData,
  file: string,
  draft: string,
): Promise<string | undefined> {
  const runs = path.join(folder, runsFolder);
  for (const run of await readdir(runs)) {
    const archive = path.join(runs, run, file);
    if (run.startsWith('.') || (await stat(archive).catch(() => undefined))?.size !== here?.bytes) continue;
    const earlier = await readPlan(path.join(runs, run)).catch(() => undefined);
    const same = (earlier === undefined ? [] : variantsOf(earlier))
      .flatMap(({ data }) => data)
      .find((one) => one.name === name && one.here?.fingerprint === here?.fingerprint);
    const isLinked = await succeeds(link(archive, draft));
    if (same?.sha256 !== undefined && isLinked) return same.sha256;
    await rm(draft, { force: true });
  }
  return undefined;
}

async function pack({ name, url, here }: PlannedData, draft: string, options: PackOptions): Promise<string> {
  const folder = await realpath(fileURLToPath(url));
  const { shard, count, fingerprint } = await describeFolder(folder);
  if (fingerprint !== here?.fingerprint)
    throw new Fault('file-invalid', `${folder} changed while the run was being created`, {
      fix: 'run the same command again when nothing writes there',
      about: folder,
    });
  options.say?.(`packing data.${name}: ${counted(count, 'file')}, ${formatSize(shard.bytes)}`);
  const signal = options.signal ?? new AbortController().signal;
  const sha256 = createHash('sha256');
  await writeTar(shard, draft, { signal, onBytes: () => undefined }, sha256);
  return sha256.digest('hex');
}
