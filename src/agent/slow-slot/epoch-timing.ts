import type { Progress } from '../../journal/entry.ts';

/** With fewer paces than this nobody can say what is normal. */
const minTimings = 3;
/** What takes less than this share of the epoch tells more of a moment than of a machine. */
const minShare = 1 / 8;

/** How an attempt went through its first epoch. */
export interface EpochTiming {
  /** Seconds until its end. */
  seconds: number;
  /** The first thing that was told, and some of the rest. */
  marks: readonly Mark[];
}

/** What something takes elsewhere. */
export interface Norm {
  /** The median of what others took. */
  seconds: number;
  attempts: number;
}

/** What the first epoch takes, as far as enough attempts have told. */
export const epochNorm = (timings: readonly EpochTiming[]): Norm | undefined =>
  normOf(timings.map(({ seconds }) => seconds));

/**
 * What it takes to tell the first step, or, once one was told, to come further than `reached` from there. So the same
 * steps are compared with each other, and what goes before them only with its like.
 */
export const stepNorm = (timings: readonly EpochTiming[], reached: number | undefined): Norm | undefined =>
  normOf(timings.map((timing) => stepSeconds(timing, reached)).filter((seconds) => seconds !== undefined));

function stepSeconds({ seconds, marks }: EpochTiming, reached: number | undefined): number | undefined {
  const [first] = marks;
  if (first === undefined) return undefined;
  const origin = reached === undefined ? 0 : first.seconds;
  const past = reached === undefined ? -Infinity : Math.max(reached, first.at);
  const ends = [...marks.filter(({ at }) => at > past).map((mark) => mark.seconds), seconds];
  return ends.map((end) => end - origin).find((span) => span >= seconds * minShare);
}

function normOf(seconds: readonly number[]): Norm | undefined {
  if (seconds.length < minTimings) return undefined;
  const sorted = [...seconds].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? 0;
  const median = sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? 0) + upper) / 2;
  return { seconds: median, attempts: sorted.length };
}

/** The note that tells a pace, as `parseTiming` reads it. */
export function encodeTiming({ seconds, marks }: EpochTiming): string {
  return JSON.stringify([...marks.map((mark) => [mark.at, rounded(mark.seconds)]), rounded(seconds)]);
}

/** The pace that a note tells, or undefined when it does not: any job of the user may have written it. */
export function parseTiming(text: string | undefined): EpochTiming | undefined {
  const parts = parsed(text);
  const seconds = parts.pop();
  if (!isDuration(seconds)) return undefined;
  const marks: Mark[] = [];
  for (const part of parts) {
    const [at, after] = Array.isArray(part) ? (part as unknown[]) : [];
    if (typeof at !== 'number' || typeof after !== 'number' || !(after >= 0 && after <= seconds))
      return undefined;
    marks.push({ at, seconds: after });
  }
  return { seconds, marks };
}

function parsed(text: string | undefined): unknown[] {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return Array.isArray(value) ? (value as unknown[]) : [];
  } catch {
    return [];
  }
}

const isDuration = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0;

const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000;

/** How far a training told it was in its first epoch (a step, or a part of the epoch), and after how many seconds. */
interface Mark {
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
  onProgress({ epoch, step }: Progress, seconds: number): boolean {
    if (this.#isOver) return false;
    if (epoch !== undefined && Number.isFinite(epoch)) {
      // Some tell parts of epochs: 0.25, 0.5 …
      const wholeEpoch = Math.floor(epoch);
      this.#first ??= wholeEpoch;
      this.#isOver = wholeEpoch > this.#first;
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
