import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { defined } from '../../base/defined.ts';
import type { Env } from '../../base/env.ts';
import type { Order, OrderedData } from '../../job/job.ts';
import { attemptFiles, attemptFolder, resultsFolder, runFiles, sandboxFiles } from '../../job/layout.ts';
import { readJournal } from '../../journal/tail.ts';
import type { World } from '../attempt.ts';
import { findGenerations, isWhole } from '../checkpoint/record.ts';
import { allowedSeconds, slotMemoryBytes, startsOf } from '../machine/condor-ads.ts';
import { readOrder } from './order.ts';

/**
 * The order of an attempt in a scheduler's sandbox. The sandbox is laid out as the run's folder is, so that what
 * the scheduler brings back falls into place; which attempt this is, the scheduler knows.
 */
export async function readSandboxOrder(file: string, world: World): Promise<Order> {
  const order = await peekSandboxOrder(file, world);
  await mkdir(order.attemptFolder, { recursive: true });
  await mkdir(path.join(world.cwd, runFiles.results), { recursive: true });
  await adoptCheckpoint(order, world.cwd);
  return await adoptTransfers(order, world.cwd);
}

/** The same for whoever works in the sandbox before the attempt begins: nothing is made or moved. */
export const peekSandboxOrder = (
  file: string,
  { cwd, env, clock }: Pick<World, 'cwd' | 'env' | 'clock'>,
): Promise<Order> => readOrder(file, (value) => inSandboxFolders(value as Order, cwd, env, clock.now()));

function inSandboxFolders(order: Order, cwd: string, env: Env, now: number): Order {
  const id = (order as Partial<Order>).job?.id ?? '';
  const attempt = (order.attemptsBefore ?? 0) + Math.max(1, startsOf(env) ?? 1);
  const { timeSeconds = Infinity } = (order as Partial<Order>).resources ?? {};
  // The pool's own limit counts too, also one that it set after the submission.
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
    data: (order as Partial<Order>).data?.map((source) => inSandbox(source, cwd)) as Order['data'],
    environment: environmentInSandbox((order as Partial<Order>).environment, cwd),
  };
}

/** What the scheduler put into the sandbox has a path there. */
const inSandbox = (source: OrderedData, cwd: string): OrderedData => ({
  ...source,
  ...(source.delivered === undefined ? {} : { delivered: path.resolve(cwd, source.delivered) }),
  ...(source.tokenFile === undefined ? {} : { tokenFile: path.resolve(cwd, source.tokenFile) }),
});

const environmentInSandbox = (
  environment: Order['environment'] | undefined,
  cwd: string,
): Order['environment'] =>
  ({
    ...environment,
    ...(environment?.pack === undefined ? {} : { pack: inSandbox(environment.pack, cwd) }),
  }) as Order['environment'];

/**
 * A checkpoint comes back to the sandbox from the scheduler's spool after an eviction, and from the access point
 * after a failure: the later one counts.
 */
async function adoptCheckpoint(order: Order, cwd: string): Promise<void> {
  const sent = path.join(cwd, sandboxFiles.checkpoint);
  const spooled = path.join(path.dirname(order.attemptFolder), sandboxFiles.checkpoint);
  const [ofSent, ofSpooled] = [await latestOf(sent), await latestOf(spooled)];
  const isLater =
    ofSent.attempt === ofSpooled.attempt
      ? ofSent.number > ofSpooled.number
      : ofSent.attempt > ofSpooled.attempt;
  if (!isLater) return;
  await rm(spooled, { recursive: true, force: true });
  await rename(sent, spooled);
}

/** The attempt that saved the latest checkpoint of a store, and its number. */
async function latestOf(store: string): Promise<{ attempt: number; number: number }> {
  return (await findGenerations(store)).find(isWhole)?.record ?? { attempt: 0, number: 0 };
}

/** What is left of a limit of Slurm's to clean up and to hand back what is there: this, or a tenth of a short one. */
const spareSeconds = 90;

/** Where an attempt runs that shares the run's folder with the access point, and which one it is. */
interface SharedPlace {
  run: string;
  attempt: number;
}

/**
 * The order of an attempt on a node of a cluster that shares the run's folder: journals, checkpoints and results are
 * written there, and everything else in the folder in which the agent is started.
 */
export async function readSharedOrder(
  file: string,
  place: SharedPlace,
  { cwd, env, clock }: World,
): Promise<Order> {
  const order = await readOrder(file, (value) => {
    const left = timeLeft(env, clock.now());
    return inRunFolders(value as Order, place, cwd, { left, ...defined({ memoryBytes: memoryIn(env) }) });
  });
  await mkdir(order.attemptFolder, { recursive: true });
  return order;
}

function inRunFolders(
  order: Order,
  { run, attempt }: SharedPlace,
  cwd: string,
  { left, ...granted }: { left: number; memoryBytes?: number },
): Order {
  const id = (order as Partial<Order>).job?.id ?? '';
  const time = Math.min((order as Partial<Order>).resources?.timeSeconds ?? Infinity, left);
  return {
    ...order,
    attempt,
    resources: { ...order.resources, ...granted, ...(time === Infinity ? {} : { timeSeconds: time }) },
    filesFrom: path.resolve(run, (order as Partial<Order>).filesFrom ?? runFiles.files),
    scratchParent: cwd,
    resultsTo: resultsFolder(run, id),
    attemptFolder: attemptFolder(run, id, attempt),
    notesFolder: path.join(run, runFiles.notes),
  };
}

/** What Slurm has granted, which may be more than the first attempt asked for. */
const memoryIn = (env: Env): number | undefined =>
  Number(env['SLURM_MEM_PER_NODE']) > 0 ? Number(env['SLURM_MEM_PER_NODE']) * 2 ** 20 : undefined;

/** Seconds until Slurm would end the job, less what its end takes; Infinity where nobody says. */
function timeLeft(env: Env, now: number): number {
  const end = Number(env['SLURM_JOB_END_TIME'] ?? NaN);
  if (!(end > 0)) return Infinity;
  const left = Math.max(0, end - now / 1000);
  return Math.round(left - Math.min(spareSeconds, left / 10));
}

/**
 * Makes what our plugin wrote down the beginning of the attempt's journal. An agent that is started again in the same
 * sandbox finds nothing: by then the journal has it.
 */
export async function adoptTransfers(order: Order, cwd: string): Promise<Order> {
  const written = path.join(cwd, sandboxFiles.transfers);
  const { entries } = await readJournal(written);
  if (entries.length === 0) return order;
  await rename(written, path.join(order.attemptFolder, attemptFiles.journal));
  return { ...order, brought: entries.flatMap((entry) => (entry.kind === 'fetched' ? [entry] : [])) };
}
