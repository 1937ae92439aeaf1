import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ensureFolder, removeTree } from '@updraft/base/disk';
import { readJsonFile, unlessGone } from '@updraft/base';
import { Fault } from '../../fault/fault.ts';
import type { WorkOrder } from '../../job/job.ts';
import type { Attempt } from '../attempt.ts';
import { copyTree } from './copy-tree.ts';

/** Names the owner of the results, so that no other job's attempt replaces them. */
const ownerFile = '.updraft.json';

interface Owner {
  run: string;
  job: string;
  attempt: number;
  /** The version of the code that made them. */
  code: string;
}

/** Refuses, before any work is done, a results folder that holds anything but this job's earlier results. */
export async function checkResultsFolder(order: WorkOrder): Promise<void> {
  const { run, job, resultsTo } = order;
  const names = (await unlessGone(readdir(resultsTo))) ?? [];
  if (names.length === 0) return;
  const owner = await readOwner(resultsTo);
  if (owner?.run === run && owner.job === job.id) return;
  const whose =
    owner === undefined ? 'something else' : `the results of job ${owner.job} of run ${owner.run}`;
  throw new Fault('order-invalid', `the results folder ${resultsTo} already holds ${whose}`, {
    fix: `move ${resultsTo} away`,
    about: resultsTo,
  });
}

/** Copies the outputs next to the results folder, then swaps them in atomically. */
export async function publishResults(
  { order, scratch, record }: Attempt,
  code: string,
  signal: AbortSignal,
): Promise<void> {
  await checkResultsFolder(order);
  const { resultsTo } = order;
  await ensureFolder(path.dirname(resultsTo));
  const draft = siblingPath(resultsTo, 'new');
  try {
    await mkdir(draft);
    for (const output of order.job.train.outputs)
      await copyTree(output, scratch.work, draft, {
        signal,
        within: scratch.work,
        onCopied: (copied) => record({ kind: 'output', ...copied }),
      });
    const owner: Owner = { run: order.run, job: order.job.id, attempt: order.attempt, code };
    await writeFile(path.join(draft, ownerFile), `${JSON.stringify(owner)}\n`);
    signal.throwIfAborted();
    await swap(draft, resultsTo);
  } catch (error) {
    await removeTree(draft);
    throw error;
  }
}

async function swap(draft: string, target: string): Promise<void> {
  const old = siblingPath(target, 'old');
  const replaced = await unlessGone(rename(target, old).then(() => true));
  await rename(draft, target);
  if (replaced) await removeTree(old);
}

const siblingPath = (folder: string, what: string): string =>
  path.join(path.dirname(folder), `.${path.basename(folder)}.${what}-${randomBytes(6).toString('hex')}`);

/** Whose results a folder holds, if any. */
export const readOwner = (folder: string): Promise<Owner | undefined> =>
  readJsonFile<Owner>(path.join(folder, ownerFile));
