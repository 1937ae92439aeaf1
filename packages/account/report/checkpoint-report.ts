import type { JobHistory } from '../history/history.ts';
import { savesOf } from '../journal/fold-agent.ts';
import { expectedLoss } from '../recovery/interruptions.ts';
import type { JobRow } from './ledger.ts';
import { secondsOf } from './sites.ts';
import { ascending, quantile } from '../statistics/describe.ts';
import type { TrainingState } from '../journal/agent-state.ts';

/**
 * What the checkpoints of `updraft` cost, and what interruptions cost in spite of them. Shares are of training
 * time.
 */
export interface CheckpointReport {
  saves: number;
  /** Time in which trainings waited for their checkpoints, in all and for each. */
  waitSeconds: number;
  waitShare: number | null;
  secondsPerSave: number;
  /** Median of the intervals that trainings chose. */
  everySeconds: number | null;
  interruptions: number;
  /** Time on slots between two interruptions, and work since the last checkpoint that each one cost. */
  meanSecondsBetween: number | null;
  lostSecondsEach: number | null;
  /**
   * What saving and repeated work cost at that interval if machines vanish without notice; null without an
   * interruption.
   */
  expectedShare: number | null;
}

/** Null if no training reported a checkpoint. */
export function checkpointReport(
  jobs: readonly JobHistory[],
  rows: readonly JobRow[],
): CheckpointReport | null {
  const trainings: TrainingState[] = [];
  for (const job of jobs)
    for (const { agent } of job.attempts)
      if (agent?.training && savesOf(agent.training)) trainings.push(agent.training);
  // Before anything is copied: a log may have a million attempts, and few have checkpoints of ours.
  if (trainings.length === 0) return null;
  const attempts = jobs.flatMap((job, index) =>
    job.attempts.map((attempt, nth) => ({ ...attempt, counted: rows[index]?.attempts[nth] })),
  );
  const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
  const saved = trainings.flatMap((one) => savesOf(one) ?? []);
  const saves = sum(saved.map((one) => one.saves));
  const waitSeconds = sum(saved.map(({ seconds }) => seconds));
  const trained = sum(
    attempts.map((one) => (savesOf(one.agent?.training) ? secondsOf(one, 'training', 'starved') : 0)),
  );
  const interrupted = attempts.filter(({ ending }) => ending === 'evicted' || ending === 'lost');
  const lost = sum(interrupted.map(({ counted }) => (counted?.millis.lostToEviction ?? 0) / 1000));
  const count = interrupted.length;
  const life = count === 0 ? null : sum(attempts.map((one) => secondsOf(one))) / count;
  const everySeconds = quantile(ascending(trainings.flatMap(({ saveEvery }) => saveEvery ?? [])), 0.5);
  return {
    saves,
    waitSeconds,
    waitShare: trained === 0 ? null : waitSeconds / trained,
    secondsPerSave: waitSeconds / saves,
    everySeconds,
    interruptions: count,
    meanSecondsBetween: life,
    lostSecondsEach: count === 0 ? null : lost / count,
    expectedShare:
      life === null || life === 0 ? null : expectedLoss(life, waitSeconds / saves, everySeconds ?? undefined),
  };
}
