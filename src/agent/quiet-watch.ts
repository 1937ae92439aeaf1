import type { Fault } from '../fault/fault.ts';
import { Activity } from './activity.ts';
import type { Attempt } from './attempt.ts';
import { describeMachine } from './machine.ts';
import { hung, quietLimit, type Quiet } from './quiet.ts';

/** After so long without a sign of life, and then so often, it is looked at what the training does. */
const lookEverySeconds = 10;

/** Tells a training that hangs from one that works without a word. */
export class QuietWatch {
  readonly #attempt: Attempt;
  readonly #asked: number | undefined;
  readonly #every: number;
  readonly #activity: Activity;
  /** Seconds of silence at the last look; undefined while there was none. */
  #lookedAt: number | undefined;

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
    this.#asked = attempt.order.job.train.quietLimitSeconds;
    this.#every = Math.min(lookEverySeconds, (this.#asked ?? Infinity) / 4);
    this.#activity = new Activity(attempt.world, attempt.order.resources.gpus > 0);
  }

  /** The Fault to end a training with that has been quiet for so long; `processes` are looked for only when needed. */
  look(seconds: number, processes: () => number[]): Fault | undefined {
    if (seconds < this.#every) {
      if (this.#lookedAt !== undefined) this.#activity.forget();
      this.#lookedAt = undefined;
      return undefined;
    }
    if (this.#lookedAt !== undefined && seconds - this.#lookedAt < this.#every) return undefined;
    this.#lookedAt = seconds;
    const pids = processes();
    this.#activity.look(pids);
    const { cpuSeconds, gpuPercent } = this.#activity;
    const quiet: Quiet = { seconds, processes: pids.length, cpuSeconds, gpuPercent };
    if (seconds <= quietLimit(quiet, this.#asked)) return undefined;
    const { order, world } = this.#attempt;
    return hung(order.job.id, describeMachine(world.env).host, quiet);
  }
}
