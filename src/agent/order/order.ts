import { readFile, mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import {
  bool,
  field,
  type Field,
  isTable,
  listOf,
  Mismatch,
  oneOf,
  optional,
  recordOf,
  shape,
  text,
  defined,
  type Env,
} from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import type { AttemptRecovery } from '@updraft/account/recovery';
import { removeTree } from '@updraft/base/disk';
import {
  attemptFiles,
  attemptFolder,
  resultsFolder,
  runFiles,
  sandboxFiles,
} from '@updraft/account/run-folder';
import { readJournal } from '@updraft/account/journal';
import { isInside } from '../../job/inside.ts';
import { secretPlaces, unpackModes } from '../../job/choices.ts';
import type { WorkOrder, OrderedData, OrderedWorkspace } from '../../job/job.ts';
import type { Rungs } from '../../search/rungs.ts';
import type { Resources, Scalar, SecretSource, Train } from '../../job/spec.ts';
import type { Context } from '../attempt.ts';
import { findGenerations, isIntact } from '../checkpoint/record.ts';
import { allowedSeconds, slotMemoryBytes, startCount } from '../machine/machine.ts';

/** Reads the work order of the attempt; `complete` adds what only this machine knows. */
export async function readOrder(
  file: string,
  complete: (value: unknown) => unknown = (value) => value,
): Promise<WorkOrder> {
  const json = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new Fault('order-invalid', `the work order ${file} cannot be read: ${(error as Error).message}`, {
      fix: 'name a file that the access point wrote: updraft-agent run ORDER.json',
      cause: error,
    });
  });
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new Fault('order-invalid', `the work order ${file} is not JSON: ${(error as Error).message}`, {
      fix: 'submit the job again',
      cause: error,
    });
  }
  return parseOrder(isTable(value) ? complete(value) : value, file);
}

/** The value as a WorkOrder, or a Fault that names the first wrong field. */
export function parseOrder(value: unknown, file: string): WorkOrder {
  const read = order(value);
  if (!(read instanceof Mismatch)) return read;
  throw new Fault('order-invalid', `the work order ${file} is invalid: ${read.describe('the order')}`, {
    fix: 'use the agent of the same version as the updraft that wrote the order, or submit the job again',
  });
}

const isNumber = (value: unknown): value is number => typeof value === 'number';
const isText = (value: unknown): value is string => typeof value === 'string';

const word = field<string>('a non-empty string', (value) => isText(value) && value !== '');
const amount = field<number>('a number from 0 up', (value) => isNumber(value) && value >= 0);
const ordinal = field<number>(
  'a whole number from 1 up',
  (value) => Number.isInteger(value) && Number(value) >= 1,
);
const scalar = field<Scalar>(
  'a string, a number, true or false',
  (value) => isText(value) || isNumber(value) || typeof value === 'boolean',
);
const absolute = field<string>('an absolute path', (value) => isText(value) && path.isAbsolute(value));
const sha256 = field<string>(
  '64 hexadecimal digits',
  (value) => isText(value) && /^[0-9a-f]{64}$/i.test(value),
);
const inside = field<string>('a path inside the work folder', (value) => isText(value) && isInside(value));

const train = shape<Train>({
  command: word,
  files: listOf(inside),
  outputs: listOf(inside),
  check: optional(word),
  checkpoint: optional(inside),
  checkpointKeep: optional(ordinal),
  checkpointEverySeconds: optional(amount),
  processes: optional(
    field<number | 'gpus'>('a number or "gpus"', (value) => Number.isInteger(value) || value === 'gpus'),
  ),
  env: recordOf(text),
  secrets: optional(
    recordOf(shape<SecretSource>({ from: oneOf(secretPlaces), name: optional(word), path: optional(word) })),
  ),
  quietLimitSeconds: optional(amount),
  idleLimitSeconds: optional(amount),
  slowLimit: optional(amount),
});

const data = shape<Omit<OrderedData, 'method'>>({
  name: word,
  url: word,
  into: inside,
  unpack: oneOf(unpackModes),
  expect: shape<OrderedData['expect']>({ files: optional(amount), bytes: optional(amount) }),
  sha256: optional(sha256),
  manifest: optional(word),
  tokenFile: optional(word),
  delivered: optional(absolute),
  arriving: optional(oneOf([true])),
  keepBytes: optional(amount),
  caches: optional(listOf(word)),
  avoidCaches: optional(listOf(word)),
}) as Field<OrderedData>;

const resources = shape<Pick<Resources, 'nodes' | 'cpus' | 'gpus' | 'memoryBytes' | 'timeSeconds'>>({
  nodes: optional(ordinal),
  cpus: amount,
  gpus: amount,
  memoryBytes: amount,
  timeSeconds: optional(amount),
}) as Field<Resources>;

const recovery = shape<AttemptRecovery>({
  attempts: ordinal,
  failedJobs: optional(ordinal),
  initialBackoff: amount,
  maxBackoff: amount,
});

const rungs = shape<Rungs>({
  metric: word,
  isLowerBetter: bool,
  unit: oneOf(['epochs', 'steps']),
  budgets: listOf(amount),
  eta: ordinal,
  until: optional(ordinal),
});

const order = shape<Omit<WorkOrder, 'brought'>>({
  version: oneOf([1]),
  run: word,
  job: shape<WorkOrder['job']>({ id: word, parameters: recordOf(scalar), train, rungs: optional(rungs) }),
  attempt: ordinal,
  isRehearsal: optional(bool),
  attemptsBefore: optional(amount),
  data: listOf(data),
  environment: shape<WorkOrder['environment']>({
    image: optional(word),
    python: listOf(word),
    pack: optional(data),
    imageToken: optional(word),
    unpacker: optional(inside),
    workspace: optional(shape<OrderedWorkspace>({ manifest: absolute, environment: word })),
    fallback: optional(word),
  }),
  resources,
  limitsMemory: optional(oneOf([true])),
  recovery: optional(recovery),
  meanLifeSeconds: optional(amount),
  filesFrom: absolute,
  scratchParent: absolute,
  resultsTo: absolute,
  attemptFolder: absolute,
  sharedCheckpoint: optional(absolute),
  notesFolder: optional(absolute),
  caches: optional(listOf(word)),
  avoidCaches: optional(listOf(word)),
  confirmed: optional(listOf(word)),
  liveSeconds: optional(amount),
});

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

/** The run's folder, shared with the access point, and the numbers of the attempt and the node: from 0. */
interface SharedAttempt {
  run: string;
  attempt: number;
  node: number;
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
  { run, attempt, node }: SharedAttempt,
  cwd: string,
  { left, ...granted }: { left: number; memoryBytes?: number },
): WorkOrder {
  const id = (order as Partial<WorkOrder>).job?.id ?? '';
  const { timeSeconds, ...asked } = (order as Partial<WorkOrder>).resources ?? ({} as Partial<Resources>);
  // Only the first node watches the time.
  const time = node > 0 ? Infinity : Math.min(timeSeconds ?? Infinity, left);
  const folder = attemptFolder(run, id, attempt);
  return {
    ...order,
    attempt,
    resources: { ...asked, ...granted, ...(time === Infinity ? {} : { timeSeconds: time }) } as Resources,
    filesFrom: path.resolve(run, (order as Partial<WorkOrder>).filesFrom ?? runFiles.files),
    scratchParent: cwd,
    resultsTo: resultsFolder(run, id),
    attemptFolder: node > 0 ? path.join(folder, `node-${node}`) : folder,
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
