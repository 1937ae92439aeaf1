import type { Progress } from '../../journal/entry.ts';
import { cpuSecondsOf } from './processes.ts';

/** Of a core: a training that uses less while its data arrives does nothing but wait for it. */
const idleShare = 0.1;
/** Processes are looked for less often than they are looked at: that takes all of /proc. */
const findEveryMs = 2000;

/**
 * How long a training waited for data that still arrives. Its own word counts; of one that says nothing, the moments in
 * which its processes use no CPU time: whoever computes a little all the time is not seen to wait.
 */
export class DataWait {
  #seconds = 0;
  #reported = 0;
  #isSaid = false;
  #foundAt = -Infinity;
  #pids: number[] = [];
  #last: { at: number; cpuSeconds: Map<number, number> } | undefined;

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
    if (this.#isSaid || !isArriving) {
      this.#last = undefined;
      return;
    }
    if (now - this.#foundAt >= findEveryMs) {
      this.#foundAt = now;
      this.#pids = processes();
    }
    const cpuSeconds = new Map(this.#pids.map((pid) => [pid, cpuSecondsOf(pid)]));
    if (this.#last !== undefined) {
      const { at, cpuSeconds: before } = this.#last;
      const passed = (now - at) / 1000;
      const used = this.#pids.reduce(
        (sum, pid) => sum + Math.max(0, (cpuSeconds.get(pid) ?? 0) - (before.get(pid) ?? 0)),
        0,
      );
      if (used < passed * idleShare) this.#seconds += passed;
    }
    this.#last = { at: now, cpuSeconds };
  }
}
