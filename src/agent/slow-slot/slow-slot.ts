import { createHash } from 'node:crypto';
import { counted, formatDuration, stableJson, tried } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import type { WorkOrder } from '../../job/job.ts';
import { noteFolders } from '@updraft/account/run-folder';
import { isOnDemand } from '../../job/on-demand.ts';
import type { Progress } from '@updraft/account/journal';
import type { Attempt } from '../attempt.ts';
import { describeMachine } from '../machine/machine.ts';
import type { SharedNotes } from '../notes/shared-notes.ts';

/** These are enough timings; each further one costs every attempt a request to the access point. */
const maxTimings = 15;
/** Parameters that only repeat the same work. */
const repeatParameters = /seed|fold|trial|repeat|replica/i;

/**
 * What the attempts of a run share about the time of their first epochs, and which jobs left a machine because it was
 * slow. Only jobs with the same parameters are compared: another batch size or model is other work.
 */
export class RunNorms {
  readonly #shared: SharedNotes;
  readonly #job: string;
  readonly #me: string;
  readonly #folder: string;
  readonly #known = new Map<string, EpochTiming | undefined>();

  constructor({ job, attempt }: WorkOrder, shared: SharedNotes) {
    this.#shared = shared;
    this.#job = job.id;
    this.#me = `${job.id}-${attempt}`;
    const relevant = Object.entries(job.parameters).filter(([name]) => !repeatParameters.test(name));
    const like = createHash('sha256').update(stableJson(relevant.sort())).digest('hex');
    this.#folder = `${noteFolders.norms}-${like.slice(0, 12)}`;
  }

  /** The timings of other attempts. */
  async others(): Promise<EpochTiming[]> {
    const names = (await this.#shared.list(this.#folder)).filter((name) => name !== this.#me);
    for (const name of names.slice(0, maxTimings))
      if (!this.#known.has(name))
        this.#known.set(name, parseTiming(await this.#shared.read(`${this.#folder}/${name}`)));
    return [...this.#known.values()].filter((timing) => timing !== undefined);
  }

  /** Shares this attempt's timing, unless enough others have. */
  async share(timing: EpochTiming): Promise<void> {
    const names = await this.#shared.list(this.#folder);
    if (names.length < maxTimings)
      await this.#shared.put(`${this.#folder}/${this.#me}`, encodeTiming(timing));
  }

  /** How many machines this job has left because they were slow. */
  async departureCount(): Promise<number> {
    const names = await this.#shared.list(noteFolders.slow);
    return names.filter((name) => name.startsWith(`${this.#job}-`)).length;
  }

  /** Records that this attempt leaves; false if the note could not be written. */
  async recordDeparture(seconds: number): Promise<boolean> {
    return await this.#shared.put(`${noteFolders.slow}/${this.#me}`, seconds.toFixed(3));
  }
}

const defaultLimit = 3;
/** A job that has left this many slow machines stays: perhaps it is not the machines. */
const maxDepartures = 2;
/** Anything shorter than this may be slow for a passing reason, such as a cold disk. */
const transientSeconds = 20;
/** The access point is asked ever more rarely: the longer it takes, the less a moment matters. */
const initialPollMs = 1000;
const pollGrowth = 1.25;

/** Seconds that something has taken here, and the norm that they far exceed. */
interface Overrun {
  seconds: number;
  norm: Norm;
}

/**
 * Compares the first epoch with those of other attempts of the run: step by step if the training reports steps,
 * otherwise as a whole. If it reports no epochs, or the run has no notes, nothing is judged.
 */
export class SlowSlot {
  readonly #attempt: Attempt;
  readonly #limit: number;
  readonly #isFresh: boolean;
  readonly #norms: RunNorms;
  readonly #epoch = new FirstEpoch();
  readonly #startedAt: number;
  /** Of other attempts. */
  #timings: readonly EpochTiming[] = [];
  #pollMs = initialPollMs;
  /** One request to the access point at a time. */
  #polling: Promise<void> | undefined;
  /** Seconds the first epoch took, when it is over. */
  #took: number | undefined;
  #isJudged = false;
  #fault: Fault | undefined;

  /** `isFresh`: the training starts from scratch. One that resumes may do less than an epoch in its first. */
  constructor(attempt: Attempt, isFresh: boolean) {
    this.#attempt = attempt;
    this.#isFresh = isFresh;
    const { job, data } = attempt.order;
    // A training that waits for its data shows how fast that arrives, not how fast the machine is.
    this.#limit = data.some((source) => source.arriving === true || isOnDemand(source))
      ? 0
      : (job.train.slowLimit ?? defaultLimit);
    this.#isJudged = this.#limit === 0;
    this.#norms = new RunNorms(attempt.order, attempt.shared);
    this.#startedAt = attempt.context.clock.monotonic();
  }

  onProgress(progress: Progress): void {
    if (this.#epoch.onProgress(progress, this.#seconds())) this.#over();
  }

  /** The training has succeeded: then its first epoch is over, too, even if no second was reported. */
  finish(): void {
    if (this.#epoch.isOpen) this.#over();
  }

  /** The Fault to leave with if it takes too long, once that is recorded for the others. */
  check(): Fault | undefined {
    if (!this.#isJudged && this.#took === undefined && this.#isTime()) this.#poll();
    return this.#fault;
  }

  #isTime(): boolean {
    const seconds = this.#seconds();
    return seconds * 1000 >= this.#pollMs || this.#overrun(seconds) !== undefined;
  }

  /** What it should have done by now, if it is too far behind. */
  #overrun(seconds: number): Overrun | undefined {
    const epoch = epochNorm(this.#timings);
    if (epoch !== undefined && seconds > this.#limit * epoch.seconds) return { seconds, norm: epoch };
    // Positions that a resumed training reports do not measure what it did here.
    if (this.#took !== undefined || !this.#isFresh) return undefined;
    const since = seconds - (this.#epoch.marks[0]?.seconds ?? 0);
    const step = stepNorm(this.#timings, this.#epoch.reached);
    const isSlow = step !== undefined && since > Math.max(transientSeconds, this.#limit * step.seconds);
    return isSlow ? { seconds: since, norm: step } : undefined;
  }

  #poll(): void {
    this.#polling ??= this.#judge().finally(() => (this.#polling = undefined));
  }

  #seconds(): number {
    return this.#took ?? (this.#attempt.context.clock.monotonic() - this.#startedAt) / 1000;
  }

  async #judge(): Promise<void> {
    this.#timings = await this.#norms.others();
    const seconds = this.#seconds();
    this.#pollMs = seconds * 1000 * pollGrowth;
    const overrun = this.#overrun(seconds);
    if (overrun !== undefined) await this.#leave(overrun);
    else if (this.#took !== undefined && this.#isFresh)
      await this.#norms.share({ seconds: this.#took, marks: this.#epoch.marks });
  }

  async #leave(overrun: Overrun): Promise<void> {
    this.#isJudged = true;
    const { seconds } = overrun;
    const fault = slow(this.#attempt, overrun);
    const departures = await this.#norms.departureCount();
    if (departures >= maxDepartures) {
      const said =
        `${fault.message}; the job stays, because it has ` +
        `already left ${counted(departures, 'slow machine')}`;
      this.#attempt.record({ kind: 'first-epoch', seconds: rounded(seconds), said });
    } else if (await this.#norms.recordDeparture(seconds)) this.#fault = fault;
  }

  #over(): void {
    this.#took = this.#seconds();
    if (this.#isFresh) this.#attempt.record({ kind: 'first-epoch', seconds: rounded(this.#took) });
    if (this.#isJudged) return;
    const before = this.#polling ?? Promise.resolve();
    void before.then(() => {
      if (!this.#isJudged) this.#poll();
    });
  }
}

function slow({ order, context }: Attempt, { seconds, norm }: Overrun): Fault {
  const { host, site } = describeMachine(context.env);
  const where = site === undefined ? host : `${host} (${site})`;
  const times = Math.floor((seconds / norm.seconds) * 10) / 10;
  return new Fault(
    'slow-slot',
    `the first epoch of job ${order.job.id} is ${times} times slower on ` +
      `${where} than elsewhere: over ${shown(seconds)} for what takes ` +
      `${shown(norm.seconds)} (median of ${norm.attempts} attempts of this run)`,
    {
      fix: 'run on another machine; if jobs legitimately differ this much, raise `slow_limit` in [train]',
      about: host,
    },
  );
}

const shown = (seconds: number): string =>
  seconds < 100 ? `${seconds.toFixed(1)} s` : formatDuration(seconds);

/** Fewer timings than this do not make a norm. */
const minTimings = 3;
/** Anything shorter than this share of the epoch reflects the moment rather than the machine. */
const minShare = 1 / 8;

/** How an attempt went through its first epoch. */
interface EpochTiming {
  /** Seconds until its end. */
  seconds: number;
  /** The first report, and some of the rest. */
  marks: readonly Mark[];
}

/** How long something takes elsewhere. */
interface Norm {
  /** The median of other attempts. */
  seconds: number;
  attempts: number;
}

/** How long the first epoch takes, if enough attempts reported it. */
const epochNorm = (timings: readonly EpochTiming[]): Norm | undefined =>
  normOf(timings.map(({ seconds }) => seconds));

/**
 * How long it takes to report the first step, or, after that, to get beyond `reached` from there. This compares like
 * with like: the same steps with each other, and start-up with start-up.
 */
const stepNorm = (timings: readonly EpochTiming[], reached: number | undefined): Norm | undefined =>
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
function encodeTiming({ seconds, marks }: EpochTiming): string {
  return JSON.stringify([...marks.map((mark) => [mark.at, rounded(mark.seconds)]), rounded(seconds)]);
}

/** The timing in a note; undefined if it holds none: any job of the user may have written it. */
function parseTiming(text: string | undefined): EpochTiming | undefined {
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

const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000;

/** How far a training said it was in its first epoch (a step, or a fraction), and after how many seconds. */
interface Mark {
  at: number;
  seconds: number;
}

/** A mark is kept if the time has grown by this factor since the last one: a few say as much as all. */
const markGrowth = 1.25;

/** Follows a training through its first epoch by the progress it reports. */
class FirstEpoch {
  #first: number | undefined;
  #isOver = false;
  /** The furthest position reported. */
  reached: number | undefined;
  readonly marks: Mark[] = [];

  /** True if the epoch reported, `seconds` after the start, is the first after the one the training began with. */
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
