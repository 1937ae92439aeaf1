import type { Progress } from '../../journal/entry.ts';

/** How far a training told it was in its first epoch (a step, or a part of the epoch), and after how many seconds. */
export interface Mark {
  at: number;
  seconds: number;
}

/** A mark is kept when so much more time has passed than at the last one: few tell as much as all. */
const markGrowth = 1.25;

/** Follows a training through its first epoch, from what it tells of its progress. */
export class FirstEpoch {
  #first: number | undefined;
  #isOver = false;
  #reached: number | undefined;
  readonly #marks: Mark[] = [];

  /** True when the epoch told, `seconds` after the start, is the first one after that with which the training began. */
  hear({ epoch, step }: Progress, seconds: number): boolean {
    if (this.#isOver) return false;
    if (epoch !== undefined && Number.isFinite(epoch)) {
      // Some tell parts of epochs: 0.25, 0.5 …
      const whole = Math.floor(epoch);
      this.#first ??= whole;
      this.#isOver = whole > this.#first;
      if (this.#isOver) return true;
    }
    // Steps before any epoch are of something else, such as reading the data.
    if (this.#first !== undefined) this.#reach(step ?? partOf(epoch), seconds);
    return false;
  }

  #reach(at: number | undefined, seconds: number): void {
    if (at === undefined || !(at > (this.#reached ?? -Infinity))) return;
    this.#reached = at;
    if (seconds >= (this.#marks.at(-1)?.seconds ?? 0) * markGrowth) this.#marks.push({ at, seconds });
  }

  /** Whether it has begun as far as one can tell, and is not over. */
  get isOpen(): boolean {
    return this.#first !== undefined && !this.#isOver;
  }

  /** The furthest it was told to be. */
  get reached(): number | undefined {
    return this.#reached;
  }

  get marks(): readonly Mark[] {
    return this.#marks;
  }
}

const partOf = (epoch: number | undefined): number | undefined =>
  Number.isInteger(epoch) ? undefined : epoch;
