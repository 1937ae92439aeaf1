import { defined, parseTime } from '@updraft/base';
import { isLowerBetter } from '@updraft/base/training';
import type { CurveEntry, Entry, Metrics, ProgressEntry } from './entry.ts';
import { asShares, keepBetter, metricsOf } from './metrics.ts';
import type { FoldedAttempt, JobState } from './state.ts';
import type { TrainingState } from './agent-state.ts';

export const isCurveEntry = (entry: Entry): entry is CurveEntry =>
  entry.kind === 'progress' || entry.kind === 'progress-replaced' || entry.kind === 'progress-scaled';

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
  unit: CurveUnit = 'reports';
  #scales: TrainingState['scales'] = {};
  readonly #percentages: readonly string[];

  /** `percentages` as the run has them. */
  constructor(percentages: readonly string[] = []) {
    this.#percentages = percentages;
  }

  /**
   * Adds an entry to a curve: the first point of an attempt voids all at its step or later, as it resumed before
   * them.
   */
  add(entry: CurveEntry, curve: Curve): void {
    if (entry.attempt !== this.#attempt) this.#scales = {};
    if (entry.kind === 'progress-scaled') {
      this.#attempt = entry.attempt;
      this.#epoch = 1;
      this.#scales = { ...this.#scales, ...entry.scales };
      return;
    }
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
    if (entry.epoch !== undefined) this.unit = 'epochs';
    else if (entry.step !== undefined && this.unit === 'reports') this.unit = 'steps';
    const metrics = asShares(metricsOf(entry), this.#scales, this.#percentages);
    if (Object.keys(metrics).length === 0) return undefined;
    this.#points += 1;
    const step = this.#stepOf(entry) ?? this.#points;
    const epochs = this.#epochsOf(entry, step);
    return { step, ...defined({ epochs }), at: parseTime(entry.t), metrics };
  }

  /** With steps and their total, those of all epochs; a figure of a whole epoch is at its end. */
  #stepOf({ step }: ProgressEntry): number | undefined {
    const steps = this.#steps;
    if (this.#hasParts) return this.#epoch;
    const before = this.#epoch - (this.#isFromZero ? 0 : 1);
    const epoch = this.unit === 'epochs' ? this.#epoch : undefined;
    return steps > 0 ? Math.max(0, Math.round(before * steps + (step ?? steps))) : (step ?? epoch);
  }

  #epochsOf({ epoch }: ProgressEntry, step: number): number | undefined {
    if (this.unit !== 'epochs') return undefined;
    return this.#steps > 0 && !this.#hasParts ? step / this.#steps : (epoch ?? this.#epoch);
  }
}

interface MeasuredJob extends Pick<JobState, 'directions' | 'percentages'> {
  attempts: readonly Pick<FoldedAttempt, 'agent'>[];
}

/** A job's metrics: the latest value of each, and the best, on its one curve over all attempts. */
export function jobMetrics({
  attempts,
  directions = {},
  percentages,
}: MeasuredJob): Pick<JobState, 'metrics' | 'best'> {
  const trainings = attempts.flatMap(({ agent }) => agent?.training ?? []);
  const last = trainings.findLast(({ turns }) => turns !== undefined);
  let points: TrainingPoint[] = [];
  const curve: Curve = {
    add: (point) => points.push(point),
    cutFrom: (step) => (points = points.filter((point) => point.step < step)),
    forget: (names, from) => {
      points = points.map((point) => (point.step < from ? point : withoutMetrics(point, names)));
    },
  };
  const stitcher = new CurveStitcher(percentages);
  const best: Record<string, number> = {};
  const add = (values: Metrics = {}): void => {
    for (const name in values) keepBetter(best, name, values[name] ?? NaN, isLowerBetter(name, directions));
  };
  for (const training of trainings) {
    if (trainings.length > 1) for (const entry of training.turns?.entries ?? []) stitcher.add(entry, curve);
    if (training.turns !== undefined && training !== last) continue;
    add(asShares(training.best, training.scales, percentages));
    add(asShares(training.worst, training.scales, percentages));
  }
  for (const { metrics } of points) add(metrics);
  const metrics: Record<string, number> = {};
  for (const training of trainings)
    for (const [name, value] of Object.entries(asShares(metricsOf(training), training.scales, percentages)))
      if (training.turns === undefined || Object.hasOwn(best, name)) metrics[name] = value;
  return { metrics, best };
}

const withoutMetrics = (point: TrainingPoint, names: readonly string[]): TrainingPoint => ({
  ...point,
  metrics: Object.fromEntries(Object.entries(point.metrics).filter(([name]) => !names.includes(name))),
});
