import { asFault, type Fault } from '../fault/fault.ts';
import { dropClaim } from '../job/claim.ts';
import type { WorkOrder } from '../job/job.ts';
import { toFaultRecord } from '../journal/entry.ts';
import type { Attempt, Context } from './attempt.ts';
import { CheckpointSaver } from './checkpoint/checkpoint-saver.ts';
import { cleanUp, endProcesses } from './clean-up.ts';
import { startArrivingData, type ArrivingData } from './data/arriving-data.ts';
import { releaseMemory } from './data/release-memory.ts';
import { stageData } from './data/stage-data.ts';
import { setUpEnvironment } from './environment/set-up-environment.ts';
import { describeMachine } from './machine/machine.ts';
import { abortIfTooManyJobsFailed, recordFailedJob } from './notes/missing-objects.ts';
import type { Recorder } from './notes/journal-writer.ts';
import type { SharedNotes } from './notes/shared-notes.ts';
import { stageFiles } from './results/copy-tree.ts';
import { checkResultsFolder, publishResults } from './results/publish-results.ts';
import {
  checkByCommand,
  checkOutputs,
  savePauseMark,
  snapshotOutputs,
  takePauseMark,
  type OutputSnapshot,
  type Paused,
} from './results/outputs.ts';
import { diskFull, makeScratch } from './scratch.ts';
import { testMachine } from './self-test/test-machine.ts';
import { checkpointExit, exitCodeOf, outcomeOf, trainingFault } from './training/ending.ts';
import { lastErrorLines } from './training/log-tail.ts';
import type { CommandEnd } from './training/shell.ts';
import { SoftwareCheck } from './training/software-check.ts';
import { limitTime, withGrace } from './training/time-limit.ts';
import { trainToEnd } from './training/train-to-end.ts';

interface Ending {
  exit: number;
  fault: Fault | undefined;
}

/** An attempt of which all is known and handed over, but for its clean-up. */
interface FinishedAttempt extends Ending {
  /**
   * To be called last, for a pool may lose patience over it: what the attempt leaves on the machine is gone afterwards.
   * `flush` says whether all that was noted is in the journal.
   */
  cleanUp: (flush: () => Promise<boolean>) => Promise<void>;
}

/** Takes an attempt through all its phases. Never throws: what went wrong is in the journal and in the ending. */
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
  const timeLimit = limitTime(context, order.resources.timeSeconds, saves);
  const forward: Recorder = (body) => {
    record(body);
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
        // The attempt ended as it did; the machine's owner has something to look at.
        record({ kind: 'fault', fault: toFaultRecord(toFault(thrown, order)) });
      });
    },
  };
}

/** What has become of an attempt so far: whoever ends it must know, however far it came. */
interface AttemptSoFar {
  root?: string;
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
    // Whatever broke because the attempt was asked to end, that is what it ended of; a training's own end counts.
    const cause: unknown =
      soFar.ended === undefined && context.signal.aborted ? context.signal.reason : thrown;
    fault = toFault(cause, order);
    record({ kind: 'fault', fault: toFaultRecord(fault) });
  }
  if (fault !== undefined) await recordFailedJob(order, shared, fault);
  soFar.software?.stop();
  await soFar.arriving?.stop();
  if (soFar.isPaused) return { exit: checkpointExit, fault: undefined };
  if (soFar.root !== undefined) await endProcesses(soFar.root, context);
  return { exit: exitCodeOf(fault, soFar.ended), fault };
}

/** Takes the attempt from its beginning, or from where it paused, to its end or to a pause. */
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
  const { equipped, attempt, before, code } = ready;
  const isDone = (): Promise<boolean> =>
    checkOutputs(order.job.train.outputs, scratch, before).then(
      () => true,
      () => false,
    );
  const ended = await trainToEnd(attempt, soFar.saver, isDone);
  // What was trained on is judged with the rest: data that is not whole proves nothing.
  if (ended === 'paused' || ended.status === 0) await soFar.arriving?.complete();
  if (ended === 'paused') {
    savePauseMark(context.restartFolder ?? context.cwd, { attempt: order.attempt, scratch, before, code });
    await dropClaim(order.attemptFolder);
    soFar.isPaused = true;
    return;
  }
  soFar.ended = ended;
  if (ended.status !== 0) await soFar.software?.explainFailure();
  await judge(equipped, ended, before);
  await soFar.saver?.discard();
}

/** An attempt whose training may begin, or go on. */
interface ReadyAttempt {
  /** With its software. */
  equipped: Attempt;
  /** Also asked to end when its software or its data, which may still be on their way, turn out broken. */
  attempt: Attempt;
  before: OutputSnapshot;
  /** The version of the code that is run. */
  code: string;
}

async function startFresh(soFar: AttemptSoFar, base: Attempt): Promise<ReadyAttempt> {
  const { order, scratch, shared } = base;
  await abortIfTooManyJobsFailed(order, shared);
  await testMachine(base);
  const equipped = await setUpEnvironment(base);
  const code = await prepare(equipped);
  const software = (soFar.software = await SoftwareCheck.start(equipped));
  soFar.saver = await CheckpointSaver.open(software.attempt, code);
  await soFar.saver?.restore();
  await stageData(software.attempt);
  await holdForEviction(software.attempt);
  releaseMemory();
  const before = await snapshotOutputs(order.job.train.outputs, scratch);
  soFar.arriving = await startArrivingData(software.attempt);
  await software.handOverToTraining();
  return { equipped, attempt: soFar.arriving.attempt, before, code };
}

/** Everything is still there from before the pause. */
async function resume(soFar: AttemptSoFar, base: Attempt, { before, code }: Paused): Promise<ReadyAttempt> {
  const equipped = await setUpEnvironment(base);
  soFar.saver = await CheckpointSaver.open(equipped, code);
  await soFar.saver?.resume();
  return { equipped, attempt: equipped, before, code };
}

/** Tells the version of the code that will be run. */
async function prepare(attempt: Attempt): Promise<string> {
  attempt.context.signal.throwIfAborted();
  await checkResultsFolder(attempt.order);
  return await stageFiles(attempt);
}

/** Outputs decide: only a valid result is handed back. */
async function judge(attempt: Attempt, ended: CommandEnd, before: OutputSnapshot): Promise<void> {
  const { order, scratch, context, record } = attempt;
  const { command, outputs, check } = order.job.train;
  const failure = trainingFault(ended, command, lastErrorLines(order), order.resources);
  // Pools that want their machine back signal all its processes at once: the training may be gone first.
  if (failure?.kind === 'training-killed') context.signal.throwIfAborted();
  if (failure !== undefined) throw failure;
  const grace = withGrace(context);
  try {
    await checkOutputs(outputs, scratch, before);
    if (check !== undefined) await checkByCommand(check, attempt, grace.signal);
    record({ kind: 'phase', phase: 'returning' });
    await publishResults(attempt, grace.signal);
  } finally {
    grace.done();
  }
}

function toFault(thrown: unknown, order: WorkOrder): Fault {
  const { code, path } = (thrown instanceof Error ? thrown : {}) as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') return diskFull(path ?? order.scratchParent, thrown);
  return asFault(thrown);
}

/** Long enough for whoever rehearses to see it and to act; after that the attempt goes on. */
const maxHoldMs = 60_000;

/**
 * In a rehearsal the first attempt waits at the end of its transfer for the eviction that it is there for: a short
 * transfer could not be met otherwise. What it has fetched lies in its scratch folder by then.
 */
async function holdForEviction({ order, context }: Pick<Attempt, 'order' | 'context'>): Promise<void> {
  if (order.isRehearsal !== true || order.attempt > 1 || order.data.length === 0) return;
  await context.clock.sleep(maxHoldMs, context.signal);
}
