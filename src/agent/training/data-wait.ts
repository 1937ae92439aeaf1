import type { Progress } from '../../journal/entry.ts';
import type { World } from '../attempt.ts';
import { Activity } from './activity.ts';

/** Of a core: a training that uses less while its data arrives does nothing but wait for it. */
const idleShare = 0.1;
/** Processes are looked for less often than they are looked at: that takes all of /proc. */
const findEveryMs = 2000;

/**
 * How long a training waited for data that still arrives. Its own word counts; of one that says nothing, the moments in
 * which its processes use no CPU time: whoever computes a little all the time is not seen to wait.
 */
export class DataWait {
  readonly #activity: Activity;
  #seconds = 0;
  #reported = 0;
  #isSaid = false;
  #foundAt = -Infinity;
  #pids: number[] = [];
  #lastAt: number | undefined;

  constructor(world: World) {
    this.#activity = new Activity(world, false);
  }

  /** What is new of it; nothing where the training speaks for itself. */
  news(): Progress {
    const waited = Math.round(this.#seconds * 10) / 10;
    if (this.#isSaid || waited === this.#reported) return {};
    this.#reported = waited;
    return { waited };
  }

  hear({ waited }: Progress): void {
    if (waited !== undefined) this.#isSaid = true;
  }

  /** To be asked all the time; `now` in milliseconds. */
  look(isArriving: boolean, now: number, processes: () => number[]): void {
    const last = this.#lastAt;
    this.#lastAt = this.#isSaid || !isArriving ? undefined : now;
    if (this.#lastAt === undefined) return;
    if (last === undefined) this.#activity.forget();
    if (now - this.#foundAt >= findEveryMs) {
      this.#foundAt = now;
      this.#pids = processes();
    }
    const before = this.#activity.cpuSeconds;
    this.#activity.look(this.#pids);
    const passed = (now - (last ?? now)) / 1000;
    if (this.#activity.cpuSeconds - before < passed * idleShare) this.#seconds += passed;
  }
}
