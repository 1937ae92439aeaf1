import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isGone } from '../base/is-gone.ts';
import { Fault } from '../fault/fault.ts';
import type { Order } from '../job/job.ts';
import { attemptFiles, sandboxFiles } from '../job/layout.ts';
import type { Attempt } from './attempt.ts';
import { copyTree } from './copy-tree.ts';
import { removeTree } from '../base/remove-tree.ts';

/** Brings the user's files into the work folder. */
export async function stageFiles({ order, scratch, world }: Attempt): Promise<void> {
  const { signal } = world;
  for (const name of order.job.train.files) {
    try {
      await copyTree(name, order.filesFrom, scratch.work, { signal });
    } catch (error) {
      if (!isGone(error)) throw error;
      throw new Fault('order-invalid', `the file ${name} is not in ${order.filesFrom}`, {
        fix: `put ${name} there, or take it out of \`files\``,
        about: name,
        cause: error,
      });
    }
  }
}

/** Brings back the checkpoint of an earlier attempt of this job, if there is one. */
export async function restoreCheckpoint({ order, scratch, world }: Attempt): Promise<void> {
  const { signal } = world;
  const { checkpoint } = order.job.train;
  if (checkpoint === undefined) return;
  await mkdir(path.join(scratch.work, checkpoint), { recursive: true });
  for (const name of await namesIn(checkpointStore(order)))
    if (name !== attemptFiles.savedBy)
      await copyTree(name, checkpointStore(order), path.join(scratch.work, checkpoint), { signal });
}

/** Keeps the checkpoint for the next attempt; the one kept before stays until the new one is whole. */
export async function saveCheckpoint({ order, scratch }: Attempt, signal: AbortSignal): Promise<void> {
  const { checkpoint } = order.job.train;
  if (checkpoint === undefined) return;
  const folder = path.join(scratch.work, checkpoint);
  const names = await namesIn(folder);
  if (names.length === 0) return;
  const store = checkpointStore(order);
  const draft = `${store}.attempt-${order.attempt}`;
  try {
    await mkdir(draft, { recursive: true });
    for (const name of names) await copyTree(name, folder, draft, { signal, within: scratch.work });
    await writeFile(path.join(draft, attemptFiles.savedBy), `${order.attempt}\n`);
    removeTree(store);
    await rename(draft, store);
  } finally {
    removeTree(draft);
  }
}

/** Beside the attempts' own folders, so that every attempt of the job finds it. */
const checkpointStore = (order: Order): string =>
  path.join(path.dirname(order.attemptFolder), sandboxFiles.checkpoint);

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}
