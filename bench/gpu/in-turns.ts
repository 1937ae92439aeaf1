import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Seen } from './with-agent.ts';

/** The variable that all processes of a training have. */
export const turnMark = 'UPDRAFT_BENCH_TURN';

interface Turn {
  from: number;
  to: number;
}

/** A training that had the cores for itself in its turns, and was stopped in between. */
export interface InTurn {
  seen: Seen;
  turns: Turn[];
}

const startMs = 9000;
const turnMs = 2500;

/**
 * Trainings that take turns on the same cores, a few seconds each: the pace of a shared machine changes by more from
 * minute to minute than the trainings differ. The first turn is longer, for their start.
 */
export async function inTurns(trainings: { name: string; start: () => Promise<Seen> }[]): Promise<InTurn[]> {
  const going = trainings.map(({ name, start }) => ({ name, start, turns: [] as Turn[], isOver: false }));
  const all: Promise<Seen>[] = [];
  const takeTurn = async (one: (typeof going)[number], ms: number): Promise<void> => {
    const from = Date.now();
    await Promise.race([sleep(ms), all[going.indexOf(one)]]);
    if (!one.isOver) await signalAll(one.name, 'SIGSTOP');
    one.turns.push({ from, to: Date.now() });
  };
  for (const one of going) {
    all.push(one.start().finally(() => (one.isOver = true)));
    await takeTurn(one, startMs);
  }
  for (let left = going; left.length > 0; left = left.filter(({ isOver }) => !isOver))
    for (const one of left) {
      await signalAll(one.name, 'SIGCONT');
      await takeTurn(one, turnMs);
    }
  const seen = await Promise.all(all);
  return going.map(({ turns }, index) => ({ seen: seen[index] as Seen, turns }));
}

async function signalAll(name: string, signal: NodeJS.Signals): Promise<void> {
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    if (!environment.split('\0').includes(`${turnMark}=${name}`)) continue;
    try {
      process.kill(Number(pid), signal);
    } catch {
      // It has ended meanwhile.
    }
  }
}
