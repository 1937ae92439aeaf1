import { defined } from '../base/defined.ts';
import { parseTime } from '../base/parse-time.ts';
import type { Entry, ProgressEntry, ReplacedEntry } from './entry.ts';
import { type Metrics, metricsOf } from './metrics.ts';
import { JournalTail, readWhole } from './tail.ts';

/** Calls `take` with each report of the training in an attempt's journal, in order; not all are in memory at once. */
export async function eachProgress(journal: string, take: (entry: CurveEntry) => void): Promise<void> {
  await readWhole(new JournalTail(journal, isProgressLine), (entries) => {
    for (const entry of entries) if (isCurveEntry(entry)) take(entry);
  });
}

/** What curves are made of. */
export type CurveEntry = ProgressEntry | ReplacedEntry;
export const isCurveEntry = (entry: Entry): entry is CurveEntry =>
  entry.kind === 'progress' || entry.kind === 'progress-replaced';

/** Cheap: a line that is not wanted, which may be a report or anything else, is not decoded. */
export const isProgressLine = (line: string): boolean => line.includes('"kind":"progress');

/** Metrics at one moment of a training. */
export interface TrainingPoint {
  /** Steps since the training's beginning; epochs, if it reports no steps; else the number of the report. */
  step: number;
  /** Completed epochs, if it reports them. */
  epochs?: number;
  /** Milliseconds since the epoch. */
  at: number;
  metrics: Metrics;
}

/** What the points of a curve are counted in. */
export type CurveUnit = 'epochs' | 'steps' | 'reports';

/** Takes the points of a job, in order. */
export interface Curve {
  add: (point: TrainingPoint) => void;
  /** Forgets what is at this step or later. */
  cutFrom: (step: number) => void;
  /** The same for some metrics only. */
  forget: (metrics: readonly string[], step: number) => void;
}

/** Gives each report of a job its place on one curve over all attempts. */
export class CurveStitcher {
  #epoch = 1;
  /** Whether the training calls its first epoch 0, or counts parts of epochs: `'epoch': 1.5`. */
  #isFromZero = false;
  #hasParts = false;
  #steps = 0;
  #attempt = 0;
  /** The attempt of the last point. */
  #drawn = 0;
  #points = 0;
  /** The first step of the last point's attempt. */
  #firstStep = 0;
  #unit: CurveUnit = 'reports';

  get unit(): CurveUnit {
    return this.#unit;
  }

  /** Adds an entry to a curve: the first point of an attempt voids all at its step or later, as it resumed before them. */
  add(entry: CurveEntry, curve: Curve): void {
    if (entry.kind === 'progress-replaced') {
      if (entry.recounted === true) this.#isFromZero = false;
      if (entry.attempt === this.#drawn) curve.forget(entry.metrics, this.#firstStep);
      return;
    }
    const point = this.#pointOf(entry);
    if (point === undefined) return;
    if (entry.attempt !== this.#drawn) {
      this.#drawn = entry.attempt;
      this.#firstStep = point.step;
      curve.cutFrom(point.step);
    }
    curve.add(point);
  }

  /** The point of a report, if it has metrics. */
  #pointOf(entry: ProgressEntry): TrainingPoint | undefined {
    if (entry.attempt !== this.#attempt) this.#epoch = 1;
    this.#attempt = entry.attempt;
    this.#epoch = entry.epoch ?? this.#epoch;
    this.#isFromZero ||= this.#epoch === 0;
    this.#hasParts ||= !Number.isInteger(this.#epoch);
    this.#steps = entry.steps ?? this.#steps;
    if (entry.epoch !== undefined) this.#unit = 'epochs';
    else if (entry.step !== undefined && this.#unit === 'reports') this.#unit = 'steps';
    const metrics = metricsOf(entry);
    if (Object.keys(metrics).length === 0) return undefined;
    this.#points += 1;
    const step = this.#stepOf(entry) ?? this.#points;
    const epochs = this.#epochsOf(entry, step);
    return { step, ...defined({ epochs }), at: parseTime(entry.t), metrics };
  }

  /** With steps and their total, those of all epochs; a figure of a whole epoch is at its end. */
  #stepOf({ step, epoch }: ProgressEntry): number | undefined {
    const steps = this.#steps;
    if (this.#hasParts) return this.#epoch;
    const before = this.#epoch - (this.#isFromZero ? 0 : 1);
    return steps > 0 ? Math.max(0, Math.round(before * steps + (step ?? steps))) : (step ?? epoch);
  }

  #epochsOf({ epoch }: ProgressEntry, step: number): number | undefined {
    if (this.#unit !== 'epochs') return undefined;
    return this.#steps > 0 && !this.#hasParts ? step / this.#steps : (epoch ?? this.#epoch);
  }
}
