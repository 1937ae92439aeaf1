import { asFault, type Fault } from '../fault/fault.ts';
import { dropClaim } from '../job/claim.ts';
import type { Order } from '../job/job.ts';
import { recordOf } from '../journal/entry.ts';
import type { Attempt, World } from './attempt.ts';
import { CheckpointKeeper } from './checkpoint/keeper.ts';
import { cleanUp, endProcesses } from './clean-up.ts';
import { startArriving, type Arriving } from './data/arriving-data.ts';
import { releaseMemory } from './data/release-memory.ts';
import { stageData } from './data/stage-data.ts';
import { setUpEnvironment } from './environment/set-up-environment.ts';
import { describeMachine } from './machine/machine.ts';
import { abortIfTooManyJobsFailed, tellFailedJob } from './notes/brakes.ts';
import type { Note } from './notes/notes.ts';
import type { SharedNotes } from './notes/shared-notes.ts';
import { stageFiles } from './results/copy-tree.ts';
import { checkResultsFolder, publishResults } from './results/publish-results.ts';
import {
  checkByCommand,
  checkOutputs,
  leaveMark,
  snapshotOutputs,
  takeMark,
  type Before,
  type Paused,
} from './results/outputs.ts';
import { diskFull, makeScratch } from './scratch.ts';
import { testMachine } from './self-test/test-machine.ts';
import { checkpointExit, exitCodeOf, outcomeOf, trainingFault } from './training/ending.ts';
import { lastErrorLines } from './training/log-tail.ts';
import type { Ended } from './training/shell.ts';
import { SoftwareProof } from './training/software-proof.ts';
import { limitTime, withGrace } from './training/time-limit.ts';
import { trainOn } from './training/train-on.ts';

interface Ending {
  exit: number;
  fault: Fault | undefined;
}

/** An attempt of which all is known and handed over, but for its clean-up. */
interface HandedOver extends Ending {
  /**
   * To be called last, for a pool may lose patience over it: what the attempt leaves on the machine is gone afterwards.
   * `isWritten` says whether all that was noted is in the journal.
   */
  cleanUp: (isWritten: () => Promise<boolean>) => Promise<void>;
}

/** Takes an attempt through all its phases. Never throws: what went wrong is in the journal and in the ending. */
export async function runAttempt(
  order: Order,
  world: World,
  note: Note,
  shared: SharedNotes,
): Promise<HandedOver> {
  note({ kind: 'agent-started', version: world.version, pid: world.pid, ...describeMachine(world.env) });
  note({ kind: 'phase', phase: 'preparing' });
  const saves = order.job.train.checkpoint !== undefined;
  const limited = limitTime(world, order.resources.timeSeconds, saves);
  const tell: Note = (body) => {
    note(body);
    limited.hear(body);
  };
  const course: Course = {};
  const ending = await inScratch(course, order, limited.world, tell, shared);
  limited.done();
  if (course.isPaused) note({ kind: 'agent-paused' });
  else note({ kind: 'agent-ended', outcome: outcomeOf(ending.fault), exit: ending.exit });
  const { root } = course;
  return {
    ...ending,
    async cleanUp(isWritten) {
      if (root === undefined || course.isPaused) return;
      await isWritten();
      await cleanUp(root, limited.world, note, isWritten).catch((thrown: unknown) => {
        // The attempt ended as it did; the machine's owner has something to look at.
        note({ kind: 'fault', fault: recordOf(explain(thrown, order)) });
      });
    },
  };
}

/** What has become of an attempt so far: whoever ends it must know, however far it came. */
interface Course {
  root?: string;
  proof?: SoftwareProof;
  arriving?: Arriving;
  keeper?: CheckpointKeeper | undefined;
  ended?: Ended;
  isPaused?: true;
}

async function inScratch(
  course: Course,
  order: Order,
  world: World,
  note: Note,
  shared: SharedNotes,
): Promise<Ending> {
  let fault: Fault | undefined;
  try {
    await pursue(course, order, world, note, shared);
  } catch (thrown) {
    // Whatever broke because the attempt was asked to end, that is what it ended of; a training's own end counts.
    const cause: unknown = course.ended === undefined && world.signal.aborted ? world.signal.reason : thrown;
    fault = explain(cause, order);
    note({ kind: 'fault', fault: recordOf(fault) });
  }
  if (fault !== undefined) await tellFailedJob(order, shared, fault);
  course.proof?.stop();
  await course.arriving?.stop();
  if (course.isPaused) return { exit: checkpointExit, fault: undefined };
  if (course.root !== undefined) await endProcesses(course.root, world);
  return { exit: exitCodeOf(fault, course.ended), fault };
}

/** Takes the attempt from its beginning, or from where it paused, to its end or to a pause. */
async function pursue(
  course: Course,
  order: Order,
  world: World,
  note: Note,
  shared: SharedNotes,
): Promise<void> {
  const paused = world.pausesIn === undefined ? undefined : takeMark(world.pausesIn, order.attempt);
  const scratch = paused?.scratch ?? makeScratch(order);
  course.root = scratch.root;
  const tell: Note = (body) => {
    note(body);
    course.keeper?.hear(body);
  };
  const bare = { order, scratch, world, note: tell, shared };
  const ready = await (paused === undefined ? startFresh(course, bare) : resume(course, bare, paused));
  const { equipped, attempt, before, code } = ready;
  const isDone = (): Promise<boolean> =>
    checkOutputs(order.job.train.outputs, scratch, before).then(
      () => true,
      () => false,
    );
  const ended = await trainOn(attempt, course.keeper, isDone);
  // What was trained on is judged with the rest: data that is not whole proves nothing.
  if (ended === 'paused' || ended.status === 0) await course.arriving?.whole();
  if (ended === 'paused') {
    leaveMark(world.pausesIn ?? world.cwd, { attempt: order.attempt, scratch, before, code });
    await dropClaim(order.attemptFolder);
    course.isPaused = true;
    return;
  }
  course.ended = ended;
  if (ended.status !== 0) await course.proof?.explainFailure();
  await judge(equipped, ended, before);
  await course.keeper?.discard();
}

/** An attempt whose training may begin, or go on. */
interface Ready {
  /** With its software. */
  equipped: Attempt;
  /** Also asked to end when its software or its data, which may still be on their way, turn out broken. */
  attempt: Attempt;
  before: Before;
  /** The version of the code that is run. */
  code: string;
}

async function startFresh(course: Course, bare: Attempt): Promise<Ready> {
  const { order, scratch, shared } = bare;
  await abortIfTooManyJobsFailed(order, shared);
  await testMachine(bare);
  const equipped = await setUpEnvironment(bare);
  const code = await prepare(equipped);
  const proof = (course.proof = await SoftwareProof.begin(equipped));
  course.keeper = await CheckpointKeeper.open(proof.attempt, code);
  await course.keeper?.restore();
  await stageData(proof.attempt);
  await holdTransfer(proof.attempt);
  releaseMemory();
  const before = await snapshotOutputs(order.job.train.outputs, scratch);
  course.arriving = await startArriving(proof.attempt);
  await proof.leaveToTraining();
  return { equipped, attempt: course.arriving.attempt, before, code };
}

/** Everything is still there from before the pause. */
async function resume(course: Course, bare: Attempt, { before, code }: Paused): Promise<Ready> {
  const equipped = await setUpEnvironment(bare);
  course.keeper = await CheckpointKeeper.open(equipped, code);
  await course.keeper?.resume();
  return { equipped, attempt: equipped, before, code };
}

/** Tells the version of the code that will be run. */
async function prepare(attempt: Attempt): Promise<string> {
  attempt.world.signal.throwIfAborted();
  await checkResultsFolder(attempt.order);
  return await stageFiles(attempt);
}

/** Outputs decide: only a valid result is handed back. */
async function judge(attempt: Attempt, ended: Ended, before: Before): Promise<void> {
  const { order, scratch, world, note } = attempt;
  const { command, outputs, check } = order.job.train;
  const failure = trainingFault(ended, command, lastErrorLines(order), order.resources);
  // Pools that want their machine back signal all its processes at once: the training may be gone first.
  if (failure?.kind === 'training-killed') world.signal.throwIfAborted();
  if (failure !== undefined) throw failure;
  const grace = withGrace(world);
  try {
    await checkOutputs(outputs, scratch, before);
    if (check !== undefined) await checkByCommand(check, attempt, grace.signal);
    note({ kind: 'phase', phase: 'returning' });
    await publishResults(attempt, grace.signal);
  } finally {
    grace.done();
  }
}

function explain(thrown: unknown, order: Order): Fault {
  const { code, path } = (thrown instanceof Error ? thrown : {}) as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') return diskFull(path ?? order.scratchParent, thrown);
  return asFault(thrown);
}

/** Long enough for whoever rehearses to see it and to act; after that the attempt goes on. */
const longestMs = 60_000;

/**
 * In a rehearsal the first attempt waits at the end of its transfer for the eviction that it is there for: a short
 * transfer could not be met otherwise. What it has fetched lies in its scratch folder by then.
 */
async function holdTransfer({ order, world }: Pick<Attempt, 'order' | 'world'>): Promise<void> {
  if (order.isRehearsal !== true || order.attempt > 1 || order.data.length === 0) return;
  await world.clock.sleep(longestMs, world.signal);
}
