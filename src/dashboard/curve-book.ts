import path from 'node:path';
import { attemptFiles, attemptFolder } from '@updraft/account/run-folder';
import {
  type Curve,
  CurveStitcher,
  type CurveUnit,
  isCurveEntry,
  isProgressLine,
  type JobState,
  JournalTail,
  type TrainingPoint,
} from '@updraft/account/journal';
import type { CurveX, MetricCurves } from './page-data.ts';

/** Points kept of a metric of a job: more than a screen shows. */
const maxKept = 256;
/** Points of all curves together: with many jobs, each has fewer. */
const maxSent = 60_000;
const minPerCurve = 12;
/** Ten thousand jobs with long journals take minutes to read: the page shows what is there meanwhile. */
const maxReadMs = 1500;

/** The curves of a run's jobs, thinned. Each reading takes only what was appended to the journals since. */
export class CurveBook {
  readonly #folder: string;
  readonly #jobs = new Map<string, JobCurves>();
  #reading: Promise<unknown> = Promise.resolve();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** One metric of these jobs; those not read within the time limit are missing, and are read by the next call. */
  async read(
    jobs: readonly JobState[],
    metric: string,
    { maxMs = maxReadMs, points = maxSent } = {},
  ): Promise<MetricCurves> {
    const reading = this.#reading.then(() => this.#update(jobs, maxMs));
    this.#reading = reading.catch(() => undefined);
    const isComplete = await reading;
    const known = jobs.flatMap(({ id }) => {
      const curves = this.#jobs.get(id);
      const curve = curves?.metrics.get(metric);
      return curves === undefined || curve === undefined ? [] : [{ id, unit: curves.unit, curve }];
    });
    const units = unitsOf(known);
    const max = Math.min(maxKept, Math.max(minPerCurve, Math.floor(points / Math.max(1, known.length))));
    const entries = known.map(({ id, curve }) => [id, curve.drawn(units, max)] as const);
    return { metric, units, isComplete, curves: Object.fromEntries(entries) };
  }

  async #update(jobs: readonly JobState[], maxMs: number): Promise<boolean> {
    const from = performance.now();
    for (const job of jobs) {
      if (performance.now() - from > maxMs) return false;
      const known = this.#jobs.get(job.id);
      if (known?.job === job) continue;
      const isAlike = known?.job?.percentages === job.percentages;
      const next = (isAlike ? known : undefined) ?? new JobCurves(job.percentages);
      const isWhole = await next.read(this.#folder, job);
      const fresh = isWhole ? next : new JobCurves(job.percentages);
      if (!isWhole) await fresh.read(this.#folder, job);
      fresh.job = job;
      this.#jobs.set(job.id, fresh);
    }
    return true;
  }
}

/** Epochs can be compared only if every training reports them; steps, too, if they report these within epochs. */
function unitsOf(known: readonly { unit: CurveUnit; curve: ThinCurve }[]): CurveX[] {
  const fewest = (['reports', 'steps'] as const).find((unit) => known.some((one) => one.unit === unit));
  if (fewest !== undefined) return [fewest, 'time'];
  return known.every(({ curve }) => curve.hasSteps) ? ['epochs', 'steps', 'time'] : ['epochs', 'time'];
}

/** All metrics of one job, over all attempts. */
class JobCurves implements Curve {
  /** As it was when its journals were read. */
  job: JobState | undefined;
  readonly metrics = new Map<string, ThinCurve>();
  readonly #stitcher: CurveStitcher;
  readonly #tails = new Map<number, JournalTail>();
  #latest = 0;
  #begin: number | undefined;

  constructor(percentages: JobState['percentages']) {
    this.#stitcher = new CurveStitcher(percentages);
  }

  get unit(): CurveUnit {
    return this.#stitcher.unit;
  }

  /** False if an earlier attempt's journal came later, or one started over: then all must be read again. */
  async read(folder: string, { id, attempts }: JobState): Promise<boolean> {
    for (const { number: attempt } of attempts) {
      const file = path.join(attemptFolder(folder, id, attempt), attemptFiles.journal);
      const tail = this.#tails.get(attempt) ?? new JournalTail(file, isProgressLine);
      this.#tails.set(attempt, tail);
      const { entries, restarted } = await tail.read();
      if (restarted || (entries.length > 0 && attempt < this.#latest)) return false;
      if (entries.length > 0) this.#latest = attempt;
      for (const entry of entries) if (isCurveEntry(entry)) this.#stitcher.add(entry, this);
    }
    return true;
  }

  cutFrom(step: number): void {
    for (const curve of this.metrics.values()) curve.cutFrom(step);
  }

  forget(metrics: readonly string[], step: number): void {
    for (const name of metrics) this.metrics.get(name)?.cutFrom(step);
  }

  add(point: TrainingPoint): void {
    for (const [name, value] of Object.entries(point.metrics)) {
      if (!Number.isFinite(value)) continue;
      const curve = this.metrics.get(name) ?? new ThinCurve();
      this.metrics.set(name, curve);
      this.#begin ??= point.at;
      const time = (point.at - this.#begin) / 1000;
      curve.add({ steps: point.step, epochs: point.epochs ?? 0, time, value });
    }
  }
}

interface ThinPoint {
  steps: number;
  epochs: number;
  time: number;
  value: number;
}

type NthPoint = ThinPoint & { nth: number };

/** One metric of one job. When it has too many points, every other one is dropped, but not an extreme nor the last. */
export class ThinCurve {
  #kept: NthPoint[] = [];
  #low: NthPoint | undefined;
  #high: NthPoint | undefined;
  #last: NthPoint | undefined;
  #every = 1;
  #seen = 0;

  add(added: ThinPoint): void {
    const point = (this.#last = { ...added, nth: this.#seen });
    this.#compare(point);
    if (this.#seen % this.#every === 0) this.#kept.push(point);
    this.#seen += 1;
    if (this.#kept.length <= maxKept) return;
    this.#kept = this.#kept.filter((_, index) => index % 2 === 0);
    this.#every *= 2;
  }

  /** Forgets what is at this step or later. */
  cutFrom(step: number): void {
    while ((this.#kept.at(-1)?.steps ?? NaN) >= step) this.#kept.pop();
    if ((this.#last?.steps ?? NaN) >= step) this.#last = this.#kept.at(-1);
    const left = [this.#low, this.#high, ...this.#kept].filter((point) => (point?.steps ?? NaN) < step);
    this.#low = this.#high = undefined;
    for (const point of left) if (point !== undefined) this.#compare(point);
  }

  #compare(point: NthPoint): void {
    if (!(point.value >= (this.#low?.value ?? Infinity))) this.#low = point;
    if (!(point.value <= (this.#high?.value ?? -Infinity))) this.#high = point;
  }

  /** Whether its steps are smaller than epochs. */
  get hasSteps(): boolean {
    return this.#kept.some(({ steps, epochs }) => steps !== epochs);
  }

  /** At most `max` points, the lowest, the highest and the last. */
  drawn(units: readonly CurveX[], max: number): MetricCurves['curves'][string] {
    const also = [this.#low, this.#high, this.#last].filter((point) => point !== undefined);
    const points = [...new Set([...everyNth(this.#kept, max), ...also])].sort((a, b) => a.nth - b.nth);
    const x = units.map((unit) =>
      points.map((point) => fewDigits(point[unit === 'reports' ? 'steps' : unit])),
    );
    return { x, y: points.map(({ value }) => fewDigits(value)) };
  }
}

/** Every nth, so that at most `max` are left, and always the last. */
function everyNth<T>(points: readonly T[], max: number): T[] {
  const every = Math.max(1, Math.ceil(points.length / max));
  return points.filter((_, index) => index % every === 0 || index === points.length - 1);
}

/** More digits than a screen can show would only make the page larger. */
const fewDigits = (value: number): number => Number(value.toPrecision(5));
