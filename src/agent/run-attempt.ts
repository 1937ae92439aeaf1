import { asFault, type Fault } from '../fault/fault.ts';
import type { Order } from '../job/job.ts';
import { recordOf } from '../journal/record-of.ts';
import { startArriving, type Arriving } from './arriving-data.ts';
import type { Attempt } from './attempt.ts';
import { choosePython } from './choose-python.ts';
import { cleanUp } from './clean-up.ts';
import { exitCodeOf, outcomeOf, trainingFault } from './ending.ts';
import { checkResultsFolder, giveBack } from './give-back.ts';
import { lastErrorLine } from './last-error-line.ts';
import { describeMachine } from './machine.ts';
import type { Note } from './notes.ts';
import { checkByCommand, checkOutputs, lookBefore, type Before } from './outputs.ts';
import { withPatience } from './patience.ts';
import { releaseMemory } from './release-memory.ts';
import { diskFull, makeScratch } from './scratch.ts';
import type { SharedNotes } from './shared-notes.ts';
import type { Ended } from './shell.ts';
import { stageData } from './stage-data.ts';
import { restoreCheckpoint, saveCheckpoint, stageFiles } from './stage-files.ts';
import { limitTime } from './time-limit.ts';
import { train } from './train.ts';
import type { World } from './world.ts';

interface Ending {
  exit: number;
  fault: Fault | undefined;
}

/**
 * Takes an attempt through all its phases. Never throws: what went wrong is in the journal and in the ending, and
 * nothing is left on the machine whatever happened.
 */
export async function runAttempt(
  order: Order,
  world: World,
  note: Note,
  shared: SharedNotes,
): Promise<Ending> {
  note({ kind: 'agent-started', version: world.version, pid: world.pid, ...describeMachine(world.env) });
  note({ kind: 'phase', phase: 'preparing' });
  const limited = limitTime(world, order.resources.timeSeconds);
  const ending = await inScratch(order, limited.world, note, shared);
  limited.done();
  note({ kind: 'agent-ended', outcome: outcomeOf(ending.fault), exit: ending.exit });
  return ending;
}

async function inScratch(order: Order, world: World, note: Note, shared: SharedNotes): Promise<Ending> {
  let ended: Ended | undefined;
  let fault: Fault | undefined;
  let root: string | undefined;
  let arriving: Arriving | undefined;
  const told = (thrown: unknown): Fault => {
    const explained = explain(thrown, order);
    note({ kind: 'fault', fault: recordOf(explained) });
    return explained;
  };
  try {
    const scratch = makeScratch(order);
    root = scratch.root;
    const attempt = { order, scratch, world, note, shared };
    await prepare(attempt);
    await stageData(attempt);
    releaseMemory();
    const before = await lookBefore(order.job.train.outputs, scratch);
    arriving = await startArriving(attempt);
    ended = await trainOrSave(arriving.attempt);
    // What was trained on is judged with the rest: data that is not whole proves nothing.
    if (ended.status === 0) await arriving.whole();
    await judge(attempt, ended, before);
  } catch (thrown) {
    // Whatever broke because the attempt was asked to end, that is what it ended of; a training's own end counts.
    fault = told(ended === undefined && world.signal.aborted ? world.signal.reason : thrown);
  }
  await arriving?.stop();
  try {
    note({ kind: 'phase', phase: 'cleaning' });
    if (root !== undefined) note({ kind: 'cleaned', bytes: await cleanUp(root, world) });
  } catch (thrown) {
    // A valid result stays one, though the fault is told: the machine's owner has something to look at.
    told(thrown);
  }
  return { exit: exitCodeOf(fault, ended), fault };
}

async function prepare(attempt: Attempt): Promise<void> {
  attempt.world.signal.throwIfAborted();
  await checkResultsFolder(attempt.order);
  await stageFiles(attempt);
  await restoreCheckpoint(attempt);
  await choosePython(attempt);
}

/** Unless the training succeeds, what it saved for the next attempt is kept. */
async function trainOrSave(attempt: Attempt): Promise<Ended> {
  attempt.note({ kind: 'phase', phase: 'training' });
  let succeeded = false;
  try {
    const ended = await train(attempt);
    succeeded = ended.status === 0;
    return ended;
  } finally {
    if (!succeeded && attempt.order.job.train.checkpoint !== undefined) await save(attempt);
  }
}

async function save(attempt: Attempt): Promise<void> {
  attempt.note({ kind: 'phase', phase: 'saving' });
  const patience = withPatience(attempt.world);
  try {
    await saveCheckpoint(attempt, patience.signal);
  } catch (thrown) {
    // Told, but not what the attempt failed of.
    attempt.note({ kind: 'fault', fault: recordOf(explain(thrown, attempt.order)) });
  } finally {
    patience.done();
  }
}

/** Outputs decide: only a valid result is handed back. */
async function judge(attempt: Attempt, ended: Ended, before: Before): Promise<void> {
  const { order, scratch, world, note } = attempt;
  const { command, outputs, check } = order.job.train;
  const failure = trainingFault(ended, command, lastErrorLine(order));
  if (failure !== undefined) throw failure;
  const patience = withPatience(world);
  try {
    await checkOutputs(outputs, scratch, before);
    if (check !== undefined) await checkByCommand(check, attempt, patience.signal);
    note({ kind: 'phase', phase: 'returning' });
    await giveBack(attempt, patience.signal);
  } finally {
    patience.done();
  }
}

function explain(thrown: unknown, order: Order): Fault {
  const { code, path } = (thrown instanceof Error ? thrown : {}) as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') return diskFull(path ?? order.scratchParent, thrown);
  return asFault(thrown);
}
