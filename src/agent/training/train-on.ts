import { Fault } from '../../fault/fault.ts';
import type { Attempt } from '../attempt.ts';
import type { CheckpointKeeper } from '../checkpoint/keeper.ts';
import { roomIn, sharedMemory } from './death.ts';
import { checkpointExit } from './ending.ts';
import { MemoryWatch, type Evidence } from './memory-watch.ts';
import { askShell, startShell, stopShell, type Ended } from './shell.ts';
import { withGrace } from './time-limit.ts';
import { TrainingWatch } from './training-watch.ts';

/**
 * Trains to the end, through the checkpoints at which the training ends to be run again. `paused` when the pool is to
 * take the checkpoint away first. `isDone` tells whether a valid result is there.
 */
export async function trainOn(
  attempt: Attempt,
  keeper: CheckpointKeeper | undefined,
  isDone: () => Promise<boolean>,
): Promise<Ended | 'paused'> {
  const { checkpointEverySeconds = Infinity } = attempt.order.job.train;
  const { pausesIn } = attempt.world;
  let askEveryMs = pausesIn === undefined ? Infinity : checkpointEverySeconds * 1000;
  for (;;) {
    attempt.note({ kind: 'phase', phase: 'training' });
    keeper?.begin();
    const trained = await trainOnce(attempt, keeper, askEveryMs).catch((thrown: unknown) => {
      // The limit is for a start: after the pause a new one begins.
      if (isTimeUp(attempt) && keeper?.hasMovedOn === true) return undefined;
      throw thrown;
    });
    if (trained === undefined) return 'paused';
    if (keeper === undefined || !wantsRestart(trained) || (trained.asked && (await isDone()))) return trained;
    if (keeper.hasNew && pausesIn !== undefined) return 'paused';
    if (keeper.hasNew) continue;
    if (!trained.asked) throw nothingSaved(attempt);
    // Whoever saves nothing when asked would lose everything each time.
    askEveryMs = Infinity;
    attempt.note({ kind: 'checkpoint-refused', reason: ignoredSaveRequest });
  }
}

const ignoredSaveRequest =
  'the training was asked to save and end (SIGTERM) and left no new checkpoint; it is not asked again in this attempt';

/** Whether its time is up where a pause would give it more. */
const isTimeUp = ({ world }: Attempt): boolean =>
  world.pausesIn !== undefined &&
  world.signal.aborted &&
  (world.signal.reason as Fault).kind === 'time-limit';

const wantsRestart = ({ status, asked }: Trained): boolean => asked || status === checkpointExit;

/** Unless the training succeeds, what it saved is kept. */
async function trainOnce(
  attempt: Attempt,
  keeper: CheckpointKeeper | undefined,
  askEveryMs: number,
): Promise<Trained> {
  let trained: Trained | undefined;
  try {
    trained = await train(attempt, keeper, askEveryMs);
    return trained;
  } finally {
    const isOver = trained === undefined || !wantsRestart(trained);
    if (isOver && trained?.status === 0) await keeper?.stop();
    else if (keeper !== undefined) await save(attempt, keeper, isOver && !isTimeUp(attempt));
  }
}

async function save(attempt: Attempt, keeper: CheckpointKeeper, isLast: boolean): Promise<void> {
  attempt.note({ kind: 'phase', phase: 'saving' });
  const grace = withGrace(attempt.world);
  try {
    await keeper.saveLast(grace.signal, isLast);
  } finally {
    grace.done();
  }
}

function nothingSaved({ order }: Attempt): Fault {
  const folder = order.job.train.checkpoint ?? '';
  return new Fault(
    'training-failed',
    `the training ended with ${checkpointExit}, which says that it saved a checkpoint, but there is nothing new in ${folder}`,
    {
      fix: 'let it write its checkpoint into the folder that UPDRAFT_CHECKPOINT names before it ends so',
      about: folder,
    },
  );
}

const lookEveryMs = 500;
/** How long a training may take to save and end when nothing presses. */
const savePatienceMs = 300_000;

/** How a training ended, and whether it was asked to, so that its checkpoint can leave the machine. */
type Trained = Ended & { asked: boolean };

/**
 * Runs the training to its end and tells how it ended. When the attempt must end early, or the training shows no
 * sign of life for too long, it is stopped and the Fault that says why is thrown. `askEveryMs` says how long it may run
 * before it is asked to save and end.
 */
async function train(attempt: Attempt, keeper?: CheckpointKeeper, askEveryMs = Infinity): Promise<Trained> {
  const { order, world, note } = attempt;
  const { command } = order.job.train;
  world.signal.throwIfAborted();
  const watch = new TrainingWatch(attempt);
  const memory = new MemoryWatch();
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
    memory.look(shell.pid);
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
  const evidence = ended.status === 0 ? {} : { evidence: seeDeath(attempt, memory) };
  watch.finish(ended.status === 0);
  note({ kind: 'training-ended', ...ended });
  if (early !== undefined) throw early;
  return { ...ended, ...evidence, asked };
}

/** At once: what the dead training had taken is soon somebody else's. */
function seeDeath({ order, scratch }: Attempt, memory: MemoryWatch): Evidence {
  return {
    memory: memory.evidence(),
    rooms: [scratch.root, order.attemptFolder, sharedMemory].flatMap(roomIn),
  };
}
