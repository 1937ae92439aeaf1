import { counted, defined, formatSize, succeeds } from '@updraft/base';
import { createHash } from 'node:crypto';
import { link, mkdir, readdir, realpath, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { removeTree } from '@updraft/base/disk';
import { Fault } from '../fault/fault.ts';
import { runFiles, runsFolder } from '../job/layout.ts';
import type { Plan, PlannedData } from '../job/plan.ts';
import { joinVariants, variantsOf } from '../job/variants.ts';
import { readPlan } from '../pool/read-plan.ts';
import { describeFolder } from '../stage/folder.ts';
import { writeTar } from '../stage/shards.ts';
import { draftFolder } from './create-run.ts';

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
