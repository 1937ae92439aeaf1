import path from 'node:path';
import { defined } from '../base/defined.ts';
import { attemptFiles, attemptFolder } from '../job/layout.ts';
import type { ProgressEntry } from './entry.ts';
import { type Metrics, metricsOf } from './metrics.ts';
import type { JobState } from './state.ts';
import { readJournal } from './tail.ts';

/** What the trainings of a job's attempts reported, in order. */
export async function readProgress(
  runFolder: string,
  { attempts }: Pick<JobState, 'attempts'>,
): Promise<ProgressEntry[]> {
  const reported: ProgressEntry[] = [];
  for (const { job, attempt } of attempts) {
    const { entries } = await readJournal(
      path.join(attemptFolder(runFolder, job, attempt), attemptFiles.journal),
    );
    reported.push(...entries.filter((entry) => entry.kind === 'progress'));
  }
  return reported;
}

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

/** Gives each report of a job its place on one curve over all attempts. */
export class CurveStitcher {
  #epoch = 1;
  #steps = 0;
  #attempt = 0;
  /** The attempt of the last point. */
  #drawn = 0;
  #points = 0;
  #unit: CurveUnit = 'reports';

  get unit(): CurveUnit {
    return this.#unit;
  }

  /**
   * The point of a report, if it has metrics. The first of an attempt voids all earlier ones at its step or later: the
   * attempt resumed before them.
   */
  take(entry: ProgressEntry): { point: TrainingPoint; isFirst: boolean } | undefined {
    if (entry.attempt !== this.#attempt) this.#epoch = 1;
    this.#attempt = entry.attempt;
    this.#epoch = entry.epoch ?? this.#epoch;
    this.#steps = entry.steps ?? this.#steps;
    if (entry.epoch !== undefined) this.#unit = 'epochs';
    else if (entry.step !== undefined && this.#unit === 'reports') this.#unit = 'steps';
    const metrics = metricsOf(entry);
    if (Object.keys(metrics).length === 0) return undefined;
    const isFirst = entry.attempt !== this.#drawn;
    this.#drawn = entry.attempt;
    this.#points += 1;
    const step = this.#stepOf(entry) ?? this.#points;
    const epochs = this.#epochsOf(entry, step);
    return { point: { step, ...defined({ epochs }), at: Date.parse(entry.t), metrics }, isFirst };
  }

  /** With steps and their total, those of all epochs; a figure of a whole epoch is at its end. */
  #stepOf({ step, epoch }: ProgressEntry): number | undefined {
    const steps = this.#steps;
    if (steps > 0) return Math.max(0, Math.round((this.#epoch - 1) * steps + (step ?? steps)));
    return step ?? (epoch === undefined ? undefined : Math.round(epoch));
  }

  #epochsOf({ epoch }: ProgressEntry, step: number): number | undefined {
    if (this.#unit !== 'epochs') return undefined;
    return this.#steps > 0 ? step / this.#steps : (epoch ?? this.#epoch);
  }
}

/** The attempts as one curve: one that resumes replaces what an earlier one did past its checkpoint. Pure. */
export function stitchCurve(reported: readonly ProgressEntry[]): TrainingPoint[] {
  const stitcher = new CurveStitcher();
  const points: TrainingPoint[] = [];
  for (const entry of reported) {
    const taken = stitcher.take(entry);
    if (taken === undefined) continue;
    if (taken.isFirst) while ((points.at(-1)?.step ?? -1) >= taken.point.step) points.pop();
    points.push(taken.point);
  }
  return points;
}
