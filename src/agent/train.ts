import { Fault } from '../fault/fault.ts';
import type { Attempt } from './attempt.ts';
import { startShell, stopShell, type Ended } from './shell.ts';
import { TrainingWatch } from './training-watch.ts';

const lookEveryMs = 500;

/**
 * Runs the training to its end and tells how it ended. When the attempt must end early, or the training shows no
 * sign of life for too long, it is stopped and the Fault that says why is thrown.
 */
export async function train(attempt: Attempt): Promise<Ended> {
  const { order, world, note } = attempt;
  const { command, quietLimitSeconds = Infinity } = order.job.train;
  world.signal.throwIfAborted();
  const shell = await startShell(command, attempt);
  note({ kind: 'training-started', pid: shell.pid, command });
  const watch = new TrainingWatch(attempt, shell.pid);

  const over = new AbortController();
  void shell.ended.then(() => over.abort());
  const wake = AbortSignal.any([over.signal, world.signal]);
  let fault: Fault | undefined;
  while (!over.signal.aborted && fault === undefined) {
    await world.clock.sleep(lookEveryMs, wake).catch(() => undefined);
    watch.look();
    if (world.signal.aborted) fault = world.signal.reason as Fault;
    else if (watch.quietSeconds > quietLimitSeconds) fault = hung(order.job.id, watch.quietSeconds);
  }
  const early = over.signal.aborted ? undefined : fault;
  const ended = early === undefined ? await shell.ended : await stopShell(shell, world);
  watch.finish();
  note({ kind: 'training-ended', ...ended });
  if (early !== undefined) throw early;
  return ended;
}

function hung(job: string, quietSeconds: number): Fault {
  return new Fault(
    'training-hung',
    `the training of job ${job} printed nothing and told no progress for ${Math.round(quietSeconds)} s`,
    { fix: 'see its last lines in err.log; if it works silently for so long, raise `quiet_limit`' },
  );
}
