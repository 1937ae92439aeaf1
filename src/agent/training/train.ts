import type { Fault } from '../../fault/fault.ts';
import type { Attempt } from '../attempt.ts';
import type { CheckpointKeeper } from '../checkpoint/keeper.ts';
import { askShell, startShell, stopShell, type Ended } from './shell.ts';
import { TrainingWatch } from './training-watch.ts';

const lookEveryMs = 500;
/** How long a training may take to save and end when nothing presses. */
const savePatienceMs = 300_000;

/** How a training ended, and whether it was asked to, so that its checkpoint can leave the machine. */
export type Trained = Ended & { asked: boolean };

/**
 * Runs the training to its end and tells how it ended. When the attempt must end early, or the training shows no
 * sign of life for too long, it is stopped and the Fault that says why is thrown. `askEveryMs` says how long it may run
 * before it is asked to save and end.
 */
export async function train(
  attempt: Attempt,
  keeper?: CheckpointKeeper,
  askEveryMs = Infinity,
): Promise<Trained> {
  const { order, world, note } = attempt;
  const { command } = order.job.train;
  world.signal.throwIfAborted();
  const watch = new TrainingWatch(attempt);
  const shell = await startShell(command, attempt);
  watch.started(shell.pid);
  note({ kind: 'training-started', pid: shell.pid, command });

  const over = new AbortController();
  void shell.ended.then(() => over.abort());
  const wake = AbortSignal.any([over.signal, world.signal]);
  let fault: Fault | undefined;
  let asked = false;
  while (!over.signal.aborted && fault === undefined && !asked) {
    await world.clock.sleep(lookEveryMs, wake).catch(() => undefined);
    watch.look();
    keeper?.look();
    fault = world.signal.aborted ? (world.signal.reason as Fault) : watch.verdict();
    if (fault === undefined) asked = keeper?.isDue(askEveryMs) === true;
  }
  asked &&= !over.signal.aborted;
  if (asked) await askShell(shell, world, savePatienceMs);
  if (asked && world.signal.aborted) fault = world.signal.reason as Fault;
  const early = over.signal.aborted ? undefined : fault;
  const ended = over.signal.aborted ? await shell.ended : await stopShell(shell, world);
  watch.finish(ended.status === 0);
  note({ kind: 'training-ended', ...ended });
  if (early !== undefined) throw early;
  return { ...ended, asked };
}
