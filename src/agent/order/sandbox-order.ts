import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { defined, type Env } from '@updraft/base';
import { removeTree } from '@updraft/base/disk';
import type { WorkOrder, OrderedData } from '../../job/job.ts';
import { attemptFiles, attemptFolder, resultsFolder, runFiles, sandboxFiles } from '../../job/layout.ts';
import { readJournal } from '../../journal/tail.ts';
import type { Context } from '../attempt.ts';
import { findGenerations, isIntact } from '../checkpoint/record.ts';
import { allowedSeconds, slotMemoryBytes, startCount } from '../machine/condor-ads.ts';
import { readOrder } from './order.ts';

/** The work order of an attempt in a scheduler's sandbox, which has the layout of the run's folder. */
export async function readSandboxOrder(file: string, context: Context): Promise<WorkOrder> {
  const order = await peekSandboxOrder(file, context);
  await mkdir(order.attemptFolder, { recursive: true });
  await mkdir(path.join(context.cwd, runFiles.results), { recursive: true });
  await adoptCheckpoint(order, context.cwd);
  return await adoptTransfers(order, context.cwd);
}

/** The same for the plugin, before the attempt starts: creates and moves nothing. */
export const peekSandboxOrder = (
  file: string,
  { cwd, env, clock }: Pick<Context, 'cwd' | 'env' | 'clock'>,
): Promise<WorkOrder> =>
  readOrder(file, (value) => inSandboxFolders(value as WorkOrder, cwd, env, clock.now()));

function inSandboxFolders(order: WorkOrder, cwd: string, env: Env, now: number): WorkOrder {
  const id = (order as Partial<WorkOrder>).job?.id ?? '';
  const attempt = (order.attemptsBefore ?? 0) + Math.max(1, startCount(env) ?? 1);
  const { timeSeconds = Infinity } = (order as Partial<WorkOrder>).resources ?? {};
  // The pool's own limit counts too, even one set after the submission.
  const time = Math.min(timeSeconds, allowedSeconds(env, now) ?? Infinity);
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
    data: (order as Partial<WorkOrder>).data?.map((source) => inSandbox(source, cwd)) as WorkOrder['data'],
    environment: environmentInSandbox((order as Partial<WorkOrder>).environment, cwd),
  };
}

/** Resolves paths of what the scheduler put into the sandbox. */
const inSandbox = (source: OrderedData, cwd: string): OrderedData => ({
  ...source,
  ...(source.delivered === undefined ? {} : { delivered: path.resolve(cwd, source.delivered) }),
  ...(source.tokenFile === undefined ? {} : { tokenFile: path.resolve(cwd, source.tokenFile) }),
});

const environmentInSandbox = (
  environment: WorkOrder['environment'] | undefined,
  cwd: string,
): WorkOrder['environment'] =>
  ({
    ...environment,
    ...(environment?.pack === undefined ? {} : { pack: inSandbox(environment.pack, cwd) }),
  }) as WorkOrder['environment'];

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

/** The run's folder, shared with the access point, and the number of the attempt. */
interface SharedAttempt {
  run: string;
  attempt: number;
}

/** The work order on a node that shares the run's folder: what must stay is written there, the rest where it starts. */
export async function readSharedOrder(
  file: string,
  shared: SharedAttempt,
  { cwd, env, clock }: Context,
): Promise<WorkOrder> {
  const order = await readOrder(file, (value) => {
    const left = timeLeft(env, clock.now());
    return inRunFolders(value as WorkOrder, shared, cwd, {
      left,
      ...defined({ memoryBytes: grantedMemory(env) }),
    });
  });
  await mkdir(order.attemptFolder, { recursive: true });
  return order;
}

function inRunFolders(
  order: WorkOrder,
  { run, attempt }: SharedAttempt,
  cwd: string,
  { left, ...granted }: { left: number; memoryBytes?: number },
): WorkOrder {
  const id = (order as Partial<WorkOrder>).job?.id ?? '';
  const time = Math.min((order as Partial<WorkOrder>).resources?.timeSeconds ?? Infinity, left);
  return {
    ...order,
    attempt,
    resources: { ...order.resources, ...granted, ...(time === Infinity ? {} : { timeSeconds: time }) },
    filesFrom: path.resolve(run, (order as Partial<WorkOrder>).filesFrom ?? runFiles.files),
    scratchParent: cwd,
    resultsTo: resultsFolder(run, id),
    attemptFolder: attemptFolder(run, id, attempt),
    notesFolder: path.join(run, runFiles.notes),
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
