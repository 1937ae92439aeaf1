import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { defined, tried } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import type { Attempt } from '../attempt.ts';
import type { CheckpointSaver } from '../checkpoint/checkpoint-saver.ts';
import { leftMark } from '../checkpoint/settled-folder.ts';
import type { CommandEnd } from './command-end.ts';
import { orFullDisk } from './death.ts';
import type { DiskWatch } from './disk-watch.ts';
import { lastErrorLines } from './log-tail.ts';
import { MemoryWatch } from './memory-watch.ts';
import { checkpointExit, ranksOf, requestSave, startShell, stopShell } from './shell.ts';
import { withGrace } from './time-limit.ts';
import { RungWatch } from './rung-watch.ts';
import { startsFresh, TrainingWatch } from './training-watch.ts';

/**
 * Trains to the end, over restarts at checkpoints; `paused` if the pool must take one, `stopped-early` if the trial
 * does not go on. `isDone`: a valid result.
 */
export async function trainToEnd(
  attempt: Attempt,
  saver: CheckpointSaver | undefined,
  disks: DiskWatch,
  isDone: () => Promise<boolean>,
): Promise<CommandEnd | 'paused' | 'stopped-early'> {
  const { rungs: asked } = attempt.order.job;
  const rungs = asked && new RungWatch(attempt, asked, startsFresh(attempt));
  const { checkpointEverySeconds = Infinity } = attempt.order.job.train;
  const { restartFolder } = attempt.context;
  let saveRequestMs = restartFolder === undefined ? Infinity : checkpointEverySeconds * 1000;
  for (;;) {
    attempt.record({ kind: 'phase', phase: 'training' });
    saver?.onStart();
    rungs?.onProgress(defined({ firstEpoch: saver?.firstEpoch }));
    const trained = await trainOnce({ attempt, saver, disks, rungs }, saveRequestMs).catch(
      (thrown: unknown) => {
        // The limit is per start: after the pause a new one begins.
        if (isTimeUp(attempt) && saver?.hasProgressed === true) return undefined;
        throw thrown;
      },
    );
    if (trained === undefined) return 'paused';
    if (trained.asked && rungs?.stop.aborted) return 'stopped-early';
    // It may have been about to end when it was asked; one that our own signal killed has not ended.
    const hasEnded = !wantsRestart(trained) || (trained.status === 0 && (await isDone()));
    if (saver === undefined || hasEnded) return trained;
    if (!trained.asked) saver.standstills = saver.hasMoved ? 0 : saver.standstills + 1;
    // Asked early, it may have nothing new yet; by itself, once.
    const mayRestart =
      saver.hasMoved || (saver.hasNew && !trained.asked && saver.standstills < maxStandstills);
    if (mayRestart && restartFolder !== undefined) return 'paused';
    if (mayRestart) continue;
    if (!trained.asked)
      throw saver.trouble ?? orFullDisk(nothingSaved(attempt, saver), lastErrorLines(attempt.order), disks);
    // A training that saves nothing on request would lose everything each time.
    saveRequestMs = Infinity;
    const reason =
      'the training was asked to save and end (SIGTERM) and left no new checkpoint; this attempt does not ask again';
    attempt.record({ kind: 'checkpoint-refused', reason });
  }
}

/** Whether its time is up and a pause would give it more. */
const isTimeUp = ({ context }: Attempt): boolean =>
  context.restartFolder !== undefined &&
  context.signal.aborted &&
  (context.signal.reason as Fault).kind === 'time-limit';

const wantsRestart = ({ status, asked }: Trained): boolean => asked || status === checkpointExit;

/** Saves the checkpoint, unless the training succeeds, while its last reports are read: these may be many. */
async function trainOnce(watches: Watches, saveRequestMs: number): Promise<Trained> {
  const { attempt, saver, rungs } = watches;
  let trained: Trained | undefined;
  let watch: TrainingWatch | undefined;
  try {
    attempt.context.signal.throwIfAborted();
    watch = new TrainingWatch(attempt, rungs);
    trained = await train(watches, watch, saveRequestMs);
    return trained;
  } finally {
    const isOver = trained === undefined || !wantsRestart(trained);
    try {
      // Even a finished trial may go on, with a larger budget.
      if (isOver && trained?.status === 0 && rungs === undefined) await saver?.stop();
      else if (saver !== undefined) {
        attempt.record({ kind: 'phase', phase: 'saving' });
        const { signal, done } = withGrace(attempt.context);
        const isLast = rungs?.stop.aborted || (isOver && !isTimeUp(attempt));
        await saver.saveLast(signal, isLast).finally(done);
      }
    } finally {
      await watch?.finished;
      await rungs?.settled;
    }
  }
}

/** A training that exits with the checkpoint it started with would be restarted for ever. */
const maxStandstills = 2;

function nothingSaved({ order }: Attempt, { hasNew }: CheckpointSaver): Fault {
  const about = order.job.train.checkpoint ?? '';
  const exited = `the training exited with ${checkpointExit}, which means that it saved a checkpoint, but`;
  const what = hasNew
    ? `what is in ${about} is the same as when it started, ${maxStandstills} times in a row`
    : `there is nothing new in ${about}`;
  const fix =
    'write a new checkpoint to the folder in UPDRAFT_CHECKPOINT before this exit, and exit with 0 when it is complete';
  return new Fault('training-failed', `${exited} ${what}`, { fix, about });
}

const pollMs = 500;
/** Where a report may be the last. */
const trialMs = 100;
/** For a training that cannot be asked to save: it may be saving what it has just reported. */
const ownSaveMs = 2000;
/** How long a training may take to save and exit when there is no hurry. */
const saveTimeoutMs = 300_000;

/** How a training ended, and whether it was asked to: so that its checkpoint can leave the machine, or for good. */
type Trained = CommandEnd & { asked: boolean };

/** A training, and what observes it. */
interface Watches {
  attempt: Attempt;
  saver: CheckpointSaver | undefined;
  disks: DiskWatch;
  rungs: RungWatch | undefined;
}

/**
 * Runs the training to its end and returns how it ended. If the attempt must end early, or the training shows no sign
 * of life for too long, it is stopped and the reason thrown as a Fault. After `saveRequestMs` it is asked to save and
 * exit, and for good if its trial does not go on.
 */
async function train(
  { attempt, saver, disks, rungs }: Watches,
  watch: TrainingWatch,
  saveRequestMs: number,
): Promise<Trained> {
  const { order, context, record } = attempt;
  const { command } = order.job.train;
  const memory = new MemoryWatch();
  const mark = path.join(attempt.scratch.work, order.job.train.checkpoint ?? '', leftMark);
  rmSync(mark, { force: true });
  const shell = await startShell(command, attempt, await ranksOf(attempt));
  const { pids } = shell;
  watch.started(...pids);
  record({ kind: 'training-started', pid: pids[0] ?? 0, command });

  const over = new AbortController();
  void shell.ended.then(() => over.abort());
  const { stop = over.signal } = rungs ?? {};
  const ending = AbortSignal.any([over.signal, context.signal]);
  const wake = AbortSignal.any([ending, stop]);
  let fault: Fault | undefined;
  let asked = false;
  while (!over.signal.aborted && fault === undefined && !asked) {
    await context.clock.sleep(rungs === undefined ? pollMs : trialMs, wake).catch(() => undefined);
    memory.poll(...pids);
    disks.poll();
    watch.poll();
    saver?.poll();
    fault = context.signal.aborted ? (context.signal.reason as Fault) : watch.verdict(memory.residentBytes);
    if (fault === undefined) asked = stop.aborted || saver?.isDue(saveRequestMs) === true;
  }
  if (asked && stop.aborted && saver?.canBeAsked() === false)
    await context.clock.sleep(ownSaveMs, ending).catch(() => undefined);
  asked &&= !over.signal.aborted;
  if (asked) await requestSave(shell, context, saveTimeoutMs);
  if (asked && context.signal.aborted) fault = context.signal.reason as Fault;
  const endedEarlyBy = over.signal.aborted ? undefined : fault;
  if (!over.signal.aborted) saver?.readAhead(over.signal);
  const own = over.signal.aborted ? await shell.ended : await stopShell(shell, context);
  // Launchers also ask rank 0 to leave when another process has failed.
  const left = asked || context.signal.aborted ? /./ : /"asked": *false/;
  const said = tried(() => readFileSync(mark, 'utf8')) ?? '';
  const ended = own.status !== 0 && left.test(said) ? { status: checkpointExit } : own;
  // Right away: the memory of the dead training is soon in use by others.
  const readings =
    ended.status === 0 ? {} : { readings: { memory: memory.readings(), disks: disks.readings() } };
  void watch.finish(ended.status === 0);
  const { readings: _, ...end } = ended;
  record({ kind: 'training-ended', ...end });
  if (endedEarlyBy !== undefined) throw endedEarlyBy;
  // Of another node, its own.
  return { ...readings, ...ended, asked };
}
