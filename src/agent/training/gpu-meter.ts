import type { Context } from '../attempt.ts';
import { ownGpus, queryNvidiaSmi } from '../machine/machine.ts';

/** Asks `nvidia-smi` now and then how busy the attempt's own GPUs are. */
export class GpuMeter {
  readonly #context: Context;
  #askedAt = -Infinity;
  #sum = 0;
  #count = 0;
  /** The last sample: percent of the busiest GPU, and when it was taken. */
  latest: { percent: number; at: number } | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Takes a sample if the last one is older than that; do not wait for it, a driver may hang. */
  async poll(everyMs: number): Promise<void> {
    const { clock } = this.#context;
    if (clock.monotonic() - this.#askedAt < everyMs) return;
    this.#askedAt = clock.monotonic();
    await this.#sample();
  }

  /** The mean over all GPUs and samples since the last call; undefined if there is none. */
  take(): number | undefined {
    const mean = this.#count === 0 ? undefined : Math.round(this.#sum / this.#count);
    [this.#sum, this.#count] = [0, 0];
    return mean;
  }

  async #sample(): Promise<void> {
    const answer = await queryNvidiaSmi(this.#context).catch(() => undefined);
    if (answer?.kind !== 'gpus') return;
    const percents = ownGpus(this.#context.env, answer.gpus).flatMap(({ percent }) => percent ?? []);
    if (percents.length === 0) return;
    this.#sum += percents.reduce((sum, percent) => sum + percent) / percents.length;
    this.#count += 1;
    this.latest = { percent: Math.max(...percents), at: this.#context.clock.monotonic() };
  }
}
