import { tried } from '@updraft/base';
import type { Progress } from '../../journal/entry.ts';

/** Fewer timings than this do not make a norm. */
const minTimings = 3;
/** Anything shorter than this share of the epoch reflects the moment rather than the machine. */
const minShare = 1 / 8;

/** How an attempt went through its first epoch. */
export interface EpochTiming {
  /** Seconds until its end. */
  seconds: number;
  /** The first report, and some of the rest. */
  marks: readonly Mark[];
}

/** How long something takes elsewhere. */
export interface Norm {
  /** The median of other attempts. */
  seconds: number;
  attempts: number;
}

/** How long the first epoch takes, if enough attempts reported it. */
export const epochNorm = (timings: readonly EpochTiming[]): Norm | undefined =>
  normOf(timings.map(({ seconds }) => seconds));

/**
 * How long it takes to report the first step, or, after that, to get beyond `reached` from there. This compares like
 * with like: the same steps with each other, and start-up with start-up.
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

/** The note that shares a timing, as `parseTiming` reads it. */
export function encodeTiming({ seconds, marks }: EpochTiming): string {
  return JSON.stringify([...marks.map((mark) => [mark.at, rounded(mark.seconds)]), rounded(seconds)]);
}

/** The timing in a note; undefined if it holds none: any job of the user may have written it. */
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
  const value = tried(() => JSON.parse(text ?? '') as unknown);
  return Array.isArray(value) ? (value as unknown[]) : [];
}

const isDuration = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0;

export const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000;

/** How far a training said it was in its first epoch (a step, or a fraction of the epoch), and after how many seconds. */
interface Mark {
  at: number;
  seconds: number;
}

/** A mark is kept if the time has grown by this factor since the last one: a few say as much as all. */
const markGrowth = 1.25;

/** Follows a training through its first epoch by the progress it reports. */
export class FirstEpoch {
  #first: number | undefined;
  #isOver = false;
  /** The furthest position reported. */
  reached: number | undefined;
  readonly marks: Mark[] = [];

  /** True if the epoch reported, `seconds` after the start, is the first after the one with which the training began. */
  onProgress({ epoch, step }: Progress, seconds: number): boolean {
    if (this.#isOver) return false;
    if (epoch !== undefined && Number.isFinite(epoch)) {
      // Some report fractions of epochs: 0.25, 0.5 …
      const wholeEpoch = Math.floor(epoch);
      this.#first ??= wholeEpoch;
      this.#isOver = wholeEpoch > this.#first;
      if (this.#isOver) return true;
    }
    // Steps before any epoch belong to something else, such as reading the data.
    if (this.#first !== undefined) this.#reach(step ?? partOf(epoch), seconds);
    return false;
  }

  #reach(at: number | undefined, seconds: number): void {
    if (at === undefined || !(at > (this.reached ?? -Infinity))) return;
    this.reached = at;
    if (seconds >= (this.marks.at(-1)?.seconds ?? 0) * markGrowth) this.marks.push({ at, seconds });
  }

  /** Whether it has started, as far as is known, and is not over. */
  get isOpen(): boolean {
    return this.#first !== undefined && !this.#isOver;
  }
}

const partOf = (epoch: number | undefined): number | undefined =>
  Number.isInteger(epoch) ? undefined : epoch;
