import { readFile, mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { defined, type Env, tried } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { removeTree } from '@updraft/base/disk';
import {
  attemptFiles,
  attemptFolder,
  resultsFolder,
  runFiles,
  sandboxFiles,
} from '@updraft/account/run-folder';
import { readJournal } from '@updraft/account/journal';
import type { WorkOrder, OrderedData } from '../../job/job.ts';
import type { Context } from '../attempt.ts';
import { findGenerations, isIntact } from '../checkpoint/record.ts';
import { allowedSeconds, slotMemoryBytes, startCount } from '../machine/machine.ts';

/** The work order of the attempt, as the access point wrote it. */
export async function readOrder(file: string): Promise<WorkOrder> {
  const json = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new Fault('order-invalid', `the work order ${file} cannot be read: ${(error as Error).message}`, {
      fix: 'name a file that the access point wrote: updraft-agent run ORDER.json',
      cause: error,
    });
  });
  return parseOrder(json, file);
}

/** Whoever can write the order decides what is run, so only its version is checked; a truncated one is no JSON. */
export function parseOrder(json: string, file: string): WorkOrder {
  const order = tried(() => JSON.parse(json) as WorkOrder | null);
  if (order?.version === 1) return order;
  throw new Fault('order-invalid', `the work order ${file} is damaged, or of another version of Updraft`, {
    fix: 'use the agent of the same version as the updraft that wrote the order, or submit the job again',
  });
}

/** The work order of an attempt in a scheduler's sandbox, which has the layout of the run's folder. */
export async function readSandboxOrder(file: string, context: Context): Promise<WorkOrder> {
  const order = await peekSandboxOrder(file, context);
  await mkdir(order.attemptFolder, { recursive: true });
  await mkdir(path.join(context.cwd, runFiles.results), { recursive: true });
  await adoptCheckpoint(order, context.cwd);
  return await adoptTransfers(order, context.cwd);
}

/** The same for the plugin, before the attempt starts: creates and moves nothing. */
export async function peekSandboxOrder(
  file: string,
  { cwd, env, clock }: Pick<Context, 'cwd' | 'env' | 'clock'>,
): Promise<WorkOrder> {
  const order = await readOrder(file);
  const { id } = order.job;
  const { pack } = order.environment;
  const attempt = (order.attemptsBefore ?? 0) + Math.max(1, startCount(env) ?? 1);
  const { timeSeconds = Infinity } = order.resources;
  // The pool's own limit counts too, even one set after the submission.
  const time = Math.min(timeSeconds, allowedSeconds(env, clock.now()) ?? Infinity);
  return {
    ...order,
    attempt,
    resources: {
      ...order.resources,
      ...defined({ memoryBytes: slotMemoryBytes(env) }),
      ...(time === Infinity ? {} : { timeSeconds: time }),
    },
    filesFrom: path.join(cwd, runFiles.files),
    scratchParent: cwd,
    resultsTo: resultsFolder(cwd, id),
    attemptFolder: attemptFolder(cwd, id, attempt),
    data: order.data.map((source) => inSandbox(source, cwd)),
    environment: { ...order.environment, ...defined({ pack: pack && inSandbox(pack, cwd) }) },
  };
}

/** Resolves paths of what the scheduler put into the sandbox. */
function inSandbox({ delivered, tokenFile, ...source }: OrderedData, cwd: string): OrderedData {
  const at = (file: string | undefined): string | undefined => file && path.resolve(cwd, file);
  return { ...source, ...defined({ delivered: at(delivered), tokenFile: at(tokenFile) }) };
}

/** From the scheduler's spool after an eviction, from the access point after a failure: the later one wins. */
async function adoptCheckpoint(order: WorkOrder, cwd: string): Promise<void> {
  const sent = path.join(cwd, sandboxFiles.checkpoint);
  const spooled = path.join(path.dirname(order.attemptFolder), sandboxFiles.checkpoint);
  const [ofSent, ofSpooled] = [await latestOf(sent), await latestOf(spooled)];
  const isLater =
    ofSent.attempt === ofSpooled.attempt
      ? ofSent.number > ofSpooled.number
      : ofSent.attempt > ofSpooled.attempt;
  if (!isLater) return;
  await removeTree(spooled);
  await rename(sent, spooled);
}

/** The attempt that saved the latest checkpoint of a store, and its number. */
async function latestOf(store: string): Promise<{ attempt: number; number: number }> {
  return (await findGenerations(store)).find(isIntact)?.record ?? { attempt: 0, number: 0 };
}

/** How much of Slurm's time limit is reserved to clean up and return results: this, or a tenth of a short limit. */
const cleanUpSeconds = 90;

/** The run's folder, shared with the access point, and the numbers of the attempt and the node: from 0. */
interface SharedAttempt {
  run: string;
  attempt: number;
  node: number;
}

/** The work order on a node that shares the run's folder: what must stay is written there, the rest where it starts. */
export async function readSharedOrder(
  file: string,
  { run, attempt, node }: SharedAttempt,
  { cwd, env, clock }: Context,
): Promise<WorkOrder> {
  const order = await readOrder(file);
  const { timeSeconds = Infinity, ...asked } = order.resources;
  // Only the first node watches the time.
  const time = node > 0 ? Infinity : Math.min(timeSeconds, timeLeft(env, clock.now()));
  const folder = attemptFolder(run, order.job.id, attempt);
  const own = node > 0 ? path.join(folder, `node-${node}`) : folder;
  await mkdir(own, { recursive: true });
  return {
    ...order,
    attempt,
    resources: {
      ...asked,
      ...defined({ memoryBytes: grantedMemory(env) }),
      ...(time < Infinity && { timeSeconds: time }),
    },
    filesFrom: path.resolve(run, order.filesFrom),
    scratchParent: cwd,
    resultsTo: resultsFolder(run, order.job.id),
    attemptFolder: own,
    ...((asked.nodes ?? 1) > 1 && {
      sharedCheckpoint: path.join(path.dirname(folder), 'shared', `${attempt}`),
    }),
    ...(node > 0 ? { isRehearsal: false } : { notesFolder: path.join(run, runFiles.notes) }),
  };
}

/** What Slurm granted, which may be more than the first attempt requested. */
const grantedMemory = (env: Env): number | undefined =>
  Number(env['SLURM_MEM_PER_NODE']) > 0 ? Number(env['SLURM_MEM_PER_NODE']) * 2 ** 20 : undefined;

/** Seconds until Slurm would end the job, minus the reserve; Infinity if it sets no end. */
function timeLeft(env: Env, now: number): number {
  const end = Number(env['SLURM_JOB_END_TIME'] ?? NaN);
  if (!(end > 0)) return Infinity;
  const left = Math.max(0, end - now / 1000);
  return Math.round(left - Math.min(cleanUpSeconds, left / 10));
}

/** Makes the plugin's entries the beginning of the attempt's journal; after a restart there are none. */
export async function adoptTransfers(order: WorkOrder, cwd: string): Promise<WorkOrder> {
  const written = path.join(cwd, sandboxFiles.transfers);
  const { entries } = await readJournal(written);
  if (entries.length === 0) return order;
  await rename(written, path.join(order.attemptFolder, attemptFiles.journal));
  return { ...order, brought: entries.flatMap((entry) => (entry.kind === 'fetched' ? [entry] : [])) };
}
