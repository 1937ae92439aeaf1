import type { World } from '../attempt.ts';
import { askNvidiaSmi, givenGpus, gpuOf } from '../machine/machine.ts';
import { cpuSecondsOf } from './processes.ts';

const askGpusEveryMs = 30_000;

/** What a training's processes and GPUs do, seen from outside. */
export class Activity {
  readonly #world: World;
  readonly #hasGpus: boolean;
  /** CPU seconds of each process at the last look; undefined while nobody looks. */
  #before: Map<number, number> | undefined;
  #cpuSeconds = 0;
  #gpuPercent: number | undefined;
  #askedAt = -Infinity;

  constructor(world: World, hasGpus: boolean) {
    this.#world = world;
    this.#hasGpus = hasGpus;
  }

  get cpuSeconds(): number {
    return this.#cpuSeconds;
  }

  get gpuPercent(): number | undefined {
    return this.#gpuPercent;
  }

  /** Adds what was done since the last look; the first only remembers where everything stands. */
  look(pids: number[]): void {
    const now = new Map(pids.map((pid) => [pid, cpuSecondsOf(pid)]));
    const before = this.#before;
    this.#before = now;
    if (before !== undefined)
      for (const [pid, seconds] of now) this.#cpuSeconds += Math.max(0, seconds - (before.get(pid) ?? 0));
    if (this.#hasGpus) void this.#lookAtGpus();
  }

  /** The training is alive: what was seen does not matter any more. */
  forget(): void {
    this.#before = undefined;
    this.#cpuSeconds = 0;
    this.#gpuPercent = undefined;
  }

  async #lookAtGpus(): Promise<void> {
    const { clock, env } = this.#world;
    if (clock.monotonic() - this.#askedAt < askGpusEveryMs) return;
    this.#askedAt = clock.monotonic();
    const asked = this.#before;
    const answer = await askNvidiaSmi(this.#world).catch(() => undefined);
    if (answer?.kind !== 'gpus' || this.#before === undefined || asked === undefined) return;
    const { gpus } = answer;
    const ours = givenGpus(env)?.flatMap((name) => gpuOf(name, gpus) ?? []) ?? gpus;
    const percents = ours.flatMap(({ percent }) => percent ?? []);
    if (percents.length > 0) this.#gpuPercent = Math.max(this.#gpuPercent ?? 0, ...percents);
  }
}
