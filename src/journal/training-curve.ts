import path from 'node:path';
import { attemptFiles, attemptFolder } from '../job/layout.ts';
import type { AgentEntry } from './entry.ts';
import { type Metrics, metricsOf } from './metrics.ts';
import type { JobState } from './state.ts';
import { readJournal } from './tail.ts';

export type ProgressEntry = Extract<AgentEntry, { kind: 'progress' }>;

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
  /** Milliseconds since the epoch. */
  at: number;
  metrics: Metrics;
}

/** The attempts as one curve: one that resumes replaces what an earlier one did past its checkpoint. Pure. */
export function stitchCurve(reported: readonly ProgressEntry[]): TrainingPoint[] {
  const points: TrainingPoint[] = [];
  let last = { epoch: 1, steps: 0, attempt: 0 };
  for (const entry of reported) {
    const isNext = entry.attempt !== last.attempt;
    last = {
      epoch: entry.epoch ?? (isNext ? 1 : last.epoch),
      steps: entry.steps ?? last.steps,
      attempt: entry.attempt,
    };
    const metrics = metricsOf(entry);
    if (Object.keys(metrics).length === 0) continue;
    const step = stepOf(entry, last) ?? points.length + 1;
    if (isNext) while ((points.at(-1)?.step ?? -1) >= step) points.pop();
    points.push({ step, at: Date.parse(entry.t), metrics });
  }
  return points;
}

/** With steps and their total, those of all epochs; a figure of a whole epoch is at its end. */
function stepOf(
  { step, epoch }: ProgressEntry,
  { epoch: current, steps }: { epoch: number; steps: number },
): number | undefined {
  if (steps > 0) return Math.max(0, Math.round((current - 1) * steps + (step ?? steps)));
  return step ?? (epoch === undefined ? undefined : Math.round(epoch));
}
