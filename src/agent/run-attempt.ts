import path from 'node:path';
import { succeeds, type Clock, defined } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { dropClaim } from '../job/claim.ts';
import type { WorkOrder } from '../job/job.ts';
import { isOnDemand } from '../job/on-demand.ts';
import {
  type AgentBody,
  type Progress,
  type RequestShort,
  toFaultRecord,
  trainingShare,
} from '@updraft/account/journal';
import type { Attempt, Context } from './attempt.ts';
import { CheckpointSaver } from './checkpoint/checkpoint-saver.ts';
import { cleanUp, endProcesses } from './clean-up.ts';
import { startArrivingData, type ArrivingData } from './data/shard-stream.ts';
import { releaseMemory } from '@updraft/base/processes';
import { stageData } from './data/stage-data.ts';
import { setUpEnvironment } from './environment/set-up-environment.ts';
import { describeMachine } from './machine/machine.ts';
import { abortIfTooManyJobsFailed, recordFailedJob } from './notes/missing-objects.ts';
import type { Recorder } from './notes/journal-writer.ts';
import type { SharedNotes } from './notes/shared-notes.ts';
import { stageFiles } from './results/copy-tree.ts';
import {
  checkByCommand,
  checkOutputs,
  checkResultsFolder,
  publishResults,
  readOwner,
  savePauseMark,
  snapshotOutputs,
  takePauseMark,
  type OutputSnapshot,
  type Paused,
} from './results/outputs.ts';
import { faultIn, makeScratch } from './scratch.ts';
import { SelfTests } from './self-test/test-machine.ts';
import { cutShort, exitCodeOf, orFullDisk, outcomeOf, trainingFault } from './training/death.ts';
import { DiskWatch, freeSpaceIn } from './training/disk-watch.ts';
import { withAdvice } from './training/failure-advice.ts';
import { lastErrorLines } from './training/log-tail.ts';
import type { CommandEnd } from './training/command-end.ts';
import { checkpointExit } from './training/shell.ts';
import { SoftwareCheck } from './training/software-check.ts';
import { limitTime, withGrace } from './training/time-limit.ts';
import { trainToEnd } from './training/train-to-end.ts';
import { lstat, mkdir, realpath, symlink } from 'node:fs/promises';
import { removeTree } from '@updraft/base/disk';
import { isFull, keptFolder, runFolderFull } from '@updraft/account/run-folder';
import type { Resources } from '../job/spec.ts';

interface Ending {
  exit: number;
  fault: Fault | undefined;
}

/** An attempt that is complete and has returned everything; only the clean-up is left. */
interface FinishedAttempt extends Ending {
  /** Removes what it leaves: last, as a pool may not wait. `flush` returns whether all entries are in the journal. */
  cleanUp: (flush: () => Promise<boolean>) => Promise<void>;
}

/** Runs an attempt through all its phases. Never throws: faults are in the journal and in the ending. */
export async function runAttempt(
  order: WorkOrder,
  context: Context,
  record: Recorder,
  shared: SharedNotes,
): Promise<FinishedAttempt> {
  record({
    kind: 'agent-started',
    version: context.version,
    pid: context.pid,
    ...describeMachine(context.env),
  });
  record({ kind: 'phase', phase: 'preparing' });
  const saves = order.job.train.checkpoint !== undefined;
  const requests = new RequestWatch(context.clock, order.resources, record);
  const timeLimit = limitTime(context, order.resources.timeSeconds, saves, () => requests.neededSeconds);
  const forward: Recorder = (body) => {
    record(body);
    requests.onEntry(body);
    timeLimit.onEntry(body);
  };
  const soFar: AttemptSoFar = {};
  const ending = await runInScratch(soFar, order, timeLimit.context, forward, shared);
  timeLimit.done();
  if (soFar.isPaused) record({ kind: 'agent-paused' });
  else {
    const { stoppedEarly } = soFar;
    const atRung = stoppedEarly && order.job.rungs?.until;
    const outcome = outcomeOf(ending.fault);
    record({ kind: 'agent-ended', outcome, exit: ending.exit, ...defined({ stoppedEarly, atRung }) });
  }
  const { root } = soFar;
  return {
    ...ending,
    async cleanUp(flush) {
      if (root === undefined || soFar.isPaused) return;
      await flush();
      await cleanUp(root, timeLimit.context, record, flush).catch((thrown: unknown) => {
        // The outcome stands; the fault is for the machine's owner.
        record({ kind: 'fault', fault: toFaultRecord(toFault(thrown, order)) });
      });
    },
  };
}

/** The state of an attempt, which its end needs, however far it came. */
interface AttemptSoFar {
  root?: string;
  tests?: SelfTests;
  software?: SoftwareCheck;
  arriving?: ArrivingData;
  saver?: CheckpointSaver | undefined;
  ended?: CommandEnd;
  stoppedEarly?: true;
  isPaused?: true;
}

async function runInScratch(
  soFar: AttemptSoFar,
  order: WorkOrder,
  context: Context,
  record: Recorder,
  shared: SharedNotes,
): Promise<Ending> {
  let fault: Fault | undefined;
  try {
    await runToEndOrPause(soFar, order, context, record, shared);
  } catch (thrown) {
    const found = await soFar.tests?.passed().then(
      () => thrown,
      (failed: unknown) => failed,
    );
    // If the attempt was asked to end, the request is the cause of what broke, unless the training ended by itself.
    const isAsked = soFar.ended === undefined && context.signal.aborted;
    fault = toFault(isAsked ? context.signal.reason : (found ?? thrown), order);
    record({ kind: 'fault', fault: toFaultRecord(fault) });
    context.lead?.fail(fault);
  }
  if (fault !== undefined) await recordFailedJob(order, shared, fault);
  soFar.tests?.stop();
  await soFar.arriving?.stop();
  if (soFar.isPaused) return { exit: checkpointExit, fault: undefined };
  await context.nodes?.close(context);
  if (soFar.root !== undefined) await endProcesses(soFar.root, context);
  if (context.nodes !== undefined && order.sharedCheckpoint !== undefined)
    await removeTree(path.dirname(order.sharedCheckpoint));
  return { exit: exitCodeOf(fault, soFar.ended), fault };
}

/** Runs the attempt from its start, or from its pause, to its end or to a pause. */
async function runToEndOrPause(
  soFar: AttemptSoFar,
  order: WorkOrder,
  context: Context,
  record: Recorder,
  shared: SharedNotes,
): Promise<void> {
  const paused =
    context.restartFolder === undefined ? undefined : takePauseMark(context.restartFolder, order.attempt);
  const scratch = paused?.scratch ?? makeScratch(order);
  soFar.root = scratch.root;
  const forward: Recorder = (body) => {
    record(body);
    soFar.saver?.onEntry(body);
  };
  const base = { order, scratch, context, record: forward, shared };
  const ready = await (paused === undefined ? startFresh(soFar, base) : resume(soFar, base, paused));
  if (ready === undefined) return;
  const { equipped, attempt, before, code } = ready;
  if (context.lead !== undefined) {
    await context.lead.serve(attempt);
    return;
  }
  await context.nodes?.ready(context);
  const isDone = (): Promise<boolean> => succeeds(checkOutputs(order.job.train.outputs, scratch, before));
  const disks = new DiskWatch(attempt);
  const ended = await trainToEnd(attempt, soFar.saver, disks, isDone);
  if (ended === 'stopped-early') {
    await returnUnfinished(equipped, ready);
    soFar.stoppedEarly = true;
    return;
  }
  // A result counts only if the data it was trained on is complete.
  if (ended === 'paused' || ended.status === 0) await soFar.arriving?.complete();
  if (ended === 'paused') {
    const mark = {
      attempt: order.attempt,
      scratch,
      before,
      code,
      standstills: soFar.saver?.standstills ?? 0,
    };
    savePauseMark(context.restartFolder ?? context.cwd, mark);
    await dropClaim(order.attemptFolder);
    soFar.isPaused = true;
    return;
  }
  soFar.ended = ended;
  await soFar.tests?.passed();
  if (ended.status !== 0) await soFar.software?.explainFailure();
  await judge(equipped, ended, disks, ready);
  // A pool that takes its machine back now may drop the result: then the next attempt resumes.
  if (!context.signal.aborted && order.job.rungs === undefined) await soFar.saver?.discard();
}

/** An attempt whose training can start or resume. */
interface ReadyAttempt {
  /** With its environment. */
  equipped: Attempt;
  /** Also asked to end if its environment or its data, which may still be arriving, turn out broken. */
  attempt: Attempt;
  before: OutputSnapshot;
  /** The version of the code. */
  code: string;
}

/** Undefined if an earlier attempt's results only had to be returned. */
async function startFresh(soFar: AttemptSoFar, base: Attempt): Promise<ReadyAttempt | undefined> {
  const { order, scratch, shared } = base;
  await abortIfTooManyJobsFailed(order, shared);
  const tests = (soFar.tests = new SelfTests(base));
  const equipped = await setUpEnvironment(tests.attempt);
  equipped.context.signal.throwIfAborted();
  await checkResultsFolder(order);
  const code = await stageFiles(equipped);
  if (await returnKept(equipped, code)) return undefined;
  soFar.software = await SoftwareCheck.start(equipped, tests);
  await shareCheckpoint(equipped);
  if (base.context.lead === undefined)
    soFar.saver = await CheckpointSaver.open(equipped, code, () => tests.passed());
  await stageData(equipped);
  await holdForEviction(equipped);
  releaseMemory();
  soFar.arriving = await startArrivingData(equipped, soFar.saver?.restore() ?? Promise.resolve());
  // A restored file is no result of this attempt.
  const before = await snapshotOutputs(order.job.train.outputs, scratch);
  soFar.software.leaveToTraining();
  // Many a training would continue without its GPU, slowly.
  await tests.allowTraining();
  return { equipped, attempt: soFar.arriving.attempt, before, code };
}

/** All nodes of a job write to one checkpoint folder; that of an attempt that was killed is removed. */
async function shareCheckpoint({ order, scratch, context }: Attempt): Promise<void> {
  const { sharedCheckpoint: folder, job } = order;
  if (folder === undefined || job.train.checkpoint === undefined) return;
  const parent = path.dirname(folder);
  if (context.lead === undefined) await removeTree(parent);
  await mkdir(folder, { recursive: true });
  const link = path.join(scratch.work, job.train.checkpoint);
  await mkdir(path.dirname(link), { recursive: true });
  await symlink(folder, link);
}

/** Everything is still there from before the pause. */
async function resume(soFar: AttemptSoFar, base: Attempt, paused: Paused): Promise<ReadyAttempt> {
  const { before, code, standstills } = paused;
  const equipped = await setUpEnvironment(base);
  soFar.saver = await CheckpointSaver.open(equipped, code);
  await soFar.saver?.resume(standstills);
  // Shards on demand are there as they were, and more may be asked for.
  soFar.arriving = await startArrivingData(equipped, Promise.resolve(), base.order.data.filter(isOnDemand));
  return { equipped, attempt: soFar.arriving.attempt, before, code };
}

/** Returns the results only if they are valid. */
async function judge(
  attempt: Attempt,
  ended: CommandEnd,
  disks: DiskWatch,
  { before, code }: Pick<ReadyAttempt, 'before' | 'code'>,
): Promise<void> {
  const { order, scratch, context, record } = attempt;
  const { command, outputs, check } = order.job.train;
  const lines = lastErrorLines(order, 'err', ended.rank);
  const failure = trainingFault(ended, command, lines, order.resources);
  // Pools that want their machine back signal all its processes at once: the training may be gone first.
  if (failure?.kind === 'training-killed') context.signal.throwIfAborted();
  if (failure !== undefined) throw await withAdvice(failure, lines, scratch.work);
  const grace = withGrace(context);
  try {
    try {
      await checkOutputs(outputs, scratch, before);
      if (check !== undefined) await checkByCommand(check, attempt, grace.signal);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.kind !== 'wrong-output') throw thrown;
      throw orFullDisk(thrown, lastErrorLines(order), disks);
    }
    // What a check has accepted is complete.
    const said = [...lines, ...lastErrorLines(order, 'out')];
    const cut = check === undefined ? cutShort(said, disks) : undefined;
    if (cut !== undefined) throw cut;
    record({ kind: 'phase', phase: 'returning' });
    await publishOrKeep(attempt, code, grace.signal);
  } finally {
    grace.done();
  }
}

/** Of a trial that was stopped early: the outputs it has. Its checkpoint stays, for whoever lets it go on. */
async function returnUnfinished(
  attempt: Attempt,
  { before, code }: Pick<ReadyAttempt, 'before' | 'code'>,
): Promise<void> {
  const { order, scratch, context, record } = attempt;
  const { train } = order.job;
  const outputs: string[] = [];
  for (const output of train.outputs)
    if (await succeeds(checkOutputs([output], scratch, before))) outputs.push(output);
  record({ kind: 'phase', phase: 'returning' });
  const own = { ...order, job: { ...order.job, train: { ...train, outputs } } };
  await publishOrKeep({ ...attempt, order: own }, code, context.signal);
}

const toFault = (thrown: unknown, order: WorkOrder): Fault =>
  faultIn((thrown as NodeJS.ErrnoException).path ?? fullest(order), thrown);

/** Not every error names its file: of the two disks that an attempt writes to, the one with less space. */
function fullest({ scratchParent, attemptFolder }: WorkOrder): string {
  const [first] = [scratchParent, attemptFolder]
    .flatMap(freeSpaceIn)
    .sort((a, b) => a.freeBytes - b.freeBytes);
  return first?.folder ?? scratchParent;
}

/** Long enough for the rehearsal to see it and act; after that the attempt goes on. */
const maxHoldMs = 60_000;

/** In a rehearsal the first attempt waits here for its eviction: a short transfer would be over too soon. */
async function holdForEviction({ order, context }: Pick<Attempt, 'order' | 'context'>): Promise<void> {
  if (order.isRehearsal !== true || order.attempt > 1 || order.data.every(isOnDemand)) return;
  await context.clock.sleep(maxHoldMs, context.signal);
}

const resultsIn = (folder: string): string => path.join(folder, 'results');

/**
 * Publishes valid results. If the run's folder is full, keeps them on the scratch disk, and throws a Fault that names
 * both. `code` is the version of the code that made them.
 */
async function publishOrKeep(attempt: Attempt, code: string, signal: AbortSignal): Promise<void> {
  await publishResults(attempt, code, signal).catch(async (error: unknown) => {
    const { poolCleans } = attempt.context;
    // In a sandbox the results are on the scratch disk.
    if (!isFull(error) || poolCleans === 'always') throw error;
    // Elsewhere the pool removes everything, and the next attempt is on another machine.
    const kept = poolCleans === undefined ? await keep(attempt, code, signal) : undefined;
    throw doesNotFit(attempt.order, error, kept);
  });
}

interface Kept {
  folder: string;
  bytes?: number;
}

const doesNotFit = ({ resultsTo }: WorkOrder, error: unknown, kept: Kept | undefined): Fault =>
  runFolderFull({
    what: `the results do not fit into ${resultsTo}${kept === undefined ? ', and are lost' : ''}`,
    folder: path.dirname(resultsTo),
    error,
    neededBytes: kept?.bytes,
    kept: kept && resultsIn(kept.folder),
  });

/** Undefined if they do not fit on the scratch disk either. */
async function keep(attempt: Attempt, code: string, signal: AbortSignal): Promise<Kept | undefined> {
  const { order, context } = attempt;
  const folder = keptFolder(order);
  let bytes = 0;
  const record: Attempt['record'] = (body) => void (bytes += body.kind === 'output' ? body.bytes : 0);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (!(await isOwn(folder, context.uid))) return undefined;
    const elsewhere = { ...order, resultsTo: resultsIn(folder) };
    await publishResults({ ...attempt, order: elsewhere, record }, code, signal);
    return { folder, bytes };
  } catch {
    return undefined;
  }
}

/** Publishes what an earlier attempt with the same code could not return; false if there is nothing. */
async function returnKept(attempt: Attempt, code: string): Promise<boolean> {
  const { order, scratch, context, record } = attempt;
  const folder = keptFolder(order);
  if (context.poolCleans !== undefined || !(await isOwn(folder, context.uid))) return false;
  const isSame = (await readOwner(resultsIn(folder)))?.code === code;
  if (isSame) {
    record({ kind: 'phase', phase: 'returning' });
    const work = await realpath(resultsIn(folder));
    const kept = { ...attempt, scratch: { ...scratch, work } };
    await publishResults(kept, code, context.signal).catch((error: unknown) => {
      throw isFull(error) ? doesNotFit(order, error, { folder }) : error;
    });
  }
  await removeTree(folder);
  return isSame;
}

/** The name can be guessed: a folder that another user could have made is ignored. */
async function isOwn(folder: string, user: number): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === user && (found.mode & 0o077) === 0;
}

/** A need that changes by less than this share is not recorded again. */
const worthRecording = 0.25;

/**
 * Compares what an attempt needs with what was requested for it, while it runs: the memory it uses, and the time it
 * will take at the pace it reports. What is too little is recorded at once, before a limit ends the attempt.
 */
export class RequestWatch {
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #asked: Pick<Resources, 'memoryBytes' | 'timeSeconds'>;
  readonly #record: Recorder;
  readonly #recorded: Partial<Record<RequestShort['of'], number>> = {};
  #progress: Progress = {};
  #first: { share: number; at: number } | undefined;
  /** How long the attempt takes in all, at the pace of its training; undefined while that is unknown. */
  neededSeconds: number | undefined;

  constructor(clock: Clock, asked: Pick<Resources, 'memoryBytes' | 'timeSeconds'>, record: Recorder) {
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.#asked = asked;
    this.#record = record;
  }

  onEntry(body: AgentBody): void {
    const { memoryBytes, timeSeconds } = this.#asked;
    if (body.kind === 'heartbeat') this.#compare('memory', body.memoryBytes, memoryBytes);
    // A training that is started again begins elsewhere.
    if (body.kind === 'training-started')
      [this.#progress, this.#first] = [defined({ firstEpoch: this.#progress.firstEpoch }), undefined];
    if (body.kind !== 'progress') return;
    this.#estimate(body);
    if (timeSeconds !== undefined && this.neededSeconds !== undefined)
      this.#compare('time', this.neededSeconds, timeSeconds);
  }

  /**
   * By the pace since the first report, which leaves out the start-up. Where nothing says
   * whether an epoch is done, it counts as done: the estimate is rather too short than a false alarm.
   */
  #estimate(progress: Progress): void {
    this.#progress = { ...this.#progress, ...progress };
    const { epochs, done, step } = this.#progress;
    const share = trainingShare(this.#progress);
    if (share === undefined) return;
    const now = (this.#clock.monotonic() - this.#startedAt) / 1000;
    this.#first ??= { share, at: now };
    const gained = share - this.#first.share;
    if (gained <= 0) return;
    const left = 1 - share - (epochs === undefined || (done ?? step) !== undefined ? 0 : 1 / epochs);
    this.neededSeconds = now + (Math.max(0, left) * (now - this.#first.at)) / gained;
  }

  /** Also records that it is enough after all, if the opposite was recorded. */
  #compare(of: RequestShort['of'], needed: number, asked: number): void {
    const before = this.#recorded[of];
    if (needed <= asked && (before === undefined || before <= asked)) return;
    const isSame = before !== undefined && Math.abs(needed - before) < before * worthRecording;
    if (isSame && needed > asked === before > asked) return;
    this.#recorded[of] = needed;
    this.#record({ kind: 'request-short', of, needed: Math.round(needed), asked });
  }
}
