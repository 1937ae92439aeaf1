import { succeeds } from '@updraft/base';
import { Fault } from '../fault/fault.ts';
import { dropClaim } from '../job/claim.ts';
import type { WorkOrder } from '../job/job.ts';
import { isOnDemand } from '../job/on-demand.ts';
import { toFaultRecord } from '../journal/entry.ts';
import type { Attempt, Context } from './attempt.ts';
import { CheckpointSaver } from './checkpoint/checkpoint-saver.ts';
import { cleanUp, endProcesses } from './clean-up.ts';
import { startArrivingData, type ArrivingData } from './data/arriving-data.ts';
import { releaseMemory } from '@updraft/base/processes';
import { stageData } from './data/stage-data.ts';
import { setUpEnvironment } from './environment/set-up-environment.ts';
import { describeMachine } from './machine/machine.ts';
import { abortIfTooManyJobsFailed, recordFailedJob } from './notes/missing-objects.ts';
import type { Recorder } from './notes/journal-writer.ts';
import type { SharedNotes } from './notes/shared-notes.ts';
import { stageFiles } from './results/copy-tree.ts';
import { publishOrKeep, returnKept } from './results/kept-results.ts';
import { checkResultsFolder } from './results/publish-results.ts';
import {
  checkByCommand,
  checkOutputs,
  savePauseMark,
  snapshotOutputs,
  takePauseMark,
  type OutputSnapshot,
  type Paused,
} from './results/outputs.ts';
import { faultIn, makeScratch } from './scratch.ts';
import { SelfTests } from './self-test/test-machine.ts';
import { cutShort, orFullDisk } from './training/death.ts';
import { DiskWatch, freeSpaceIn } from './training/disk-watch.ts';
import { withAdvice } from './training/failure-advice.ts';
import { checkpointExit, exitCodeOf, outcomeOf, trainingFault } from './training/ending.ts';
import { lastErrorLines } from './training/log-tail.ts';
import type { CommandEnd } from './training/shell.ts';
import { SoftwareCheck } from './training/software-check.ts';
import { RequestWatch } from './training/request-watch.ts';
import { limitTime, withGrace } from './training/time-limit.ts';
import { trainToEnd } from './training/train-to-end.ts';

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
  else record({ kind: 'agent-ended', outcome: outcomeOf(ending.fault), exit: ending.exit });
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
    // Whatever broke because the attempt was asked to end, the request is the cause, unless the training ended by itself.
    const isAsked = soFar.ended === undefined && context.signal.aborted;
    fault = toFault(isAsked ? context.signal.reason : (found ?? thrown), order);
    record({ kind: 'fault', fault: toFaultRecord(fault) });
  }
  if (fault !== undefined) await recordFailedJob(order, shared, fault);
  soFar.tests?.stop();
  await soFar.arriving?.stop();
  if (soFar.isPaused) return { exit: checkpointExit, fault: undefined };
  if (soFar.root !== undefined) await endProcesses(soFar.root, context);
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
  const isDone = (): Promise<boolean> => succeeds(checkOutputs(order.job.train.outputs, scratch, before));
  const disks = new DiskWatch(attempt);
  const ended = await trainToEnd(attempt, soFar.saver, disks, isDone);
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
  if (!context.signal.aborted) await soFar.saver?.discard();
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
  const code = await prepare(equipped);
  if (await returnKept(equipped, code)) return undefined;
  soFar.software = await SoftwareCheck.start(equipped, tests);
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

/** Returns the version of the code. */
async function prepare(attempt: Attempt): Promise<string> {
  attempt.context.signal.throwIfAborted();
  await checkResultsFolder(attempt.order);
  return await stageFiles(attempt);
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
  const lines = lastErrorLines(order);
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
