import path from 'node:path';
import { clip, printable } from '@updraft/base';
import type { Explanation } from '../diagnosis/explanation.ts';
import { faultOf } from '../history/run-jobs.ts';
import { attemptFiles, attemptFolder } from '../job/layout.ts';
import { isOpen, type AttemptState, type JobState, type RunState } from '../journal/state.ts';
import { eachProgress } from '../journal/tail.ts';
import { type Curve, CurveStitcher } from '../journal/training-curve.ts';
import { attemptSentences } from '../why/checkpoint-sentences.ts';
import { explainRunJob } from '../why/explain-run-job.ts';
import { everyNth, fewDigits } from './curve-book.ts';
import { phaseRowsOf } from './job-row.ts';
import type { CurvePoint, JobDetail } from './page-data.ts';
import { actionOn, canRetry, type RunSource } from './run-source.ts';

/** A curve with more points looks the same. */
const maxPoints = 400;
/** A page with more of them is not read. */
const maxMetrics = 8;
const maxTextChars = 12_000;

/** The explanations of `updraft why`, or by the run's state alone if the source has none. */
export const explainJobs = async (
  source: RunSource,
  state: RunState,
  jobs: readonly JobState[],
): Promise<Explanation[]> =>
  (await source.explain?.(state, jobs)) ?? jobs.map((job) => explainRunJob({ job, entries: [] }));

export async function jobDetail(
  source: RunSource,
  job: JobState,
  explanation: Explanation,
  points = maxPoints,
): Promise<JobDetail> {
  const rows = phaseRowsOf(job);
  const { argument } = source;
  return {
    id: job.id,
    explanation: shown(explanation),
    attempts: job.attempts.map((attempt, index) => {
      const row = rows[index];
      const fault = faultOf(attempt);
      return {
        attempt: attempt.attempt,
        outcome: attempt.outcome ?? 'running',
        why: clip(printable(attempt.why), 400),
        where: clip(printable([row?.site, row?.host].filter((part) => part !== '').join(', ')), 200),
        fault: clip(printable(fault?.message ?? ''), maxTextChars),
        fix: clip(printable(fault?.fix ?? ''), maxTextChars),
        notes: notesOn(attempt).map((note) => clip(printable(note), 600)),
        parts: row?.parts ?? [],
      };
    }),
    curves: await jobCurves(source.folder, job, points),
    commands: [
      { what: 'what it printed', command: `updraft logs ${argument} ${job.id}` },
      { what: 'what it printed on stderr', command: `updraft logs ${argument} ${job.id} --err` },
      ...(job.status === 'ended' && job.outcome !== 'success'
        ? [{ what: 'why it failed', command: `updraft why ${argument} ${job.id}` }]
        : []),
    ],
    stop: !isOpen(job) || job.stopRequested ? null : actionOn(source, 'stop', [job.id]),
    retry: canRetry(source, job) ? actionOn(source, 'retry', [job.id]) : null,
  };
}

function shown({ standing, cause, title, because, doing, advice }: Explanation): JobDetail['explanation'] {
  const safe = (sentences: readonly string[]): string[] =>
    sentences.map((sentence) => clip(printable(sentence), maxTextChars));
  const [headline = ''] = safe([`${standing}: ${title}`]);
  return { cause, headline, because: safe(because), doing: safe(doing), advice: safe(advice) };
}

/** Failed self-tests of an attempt, its checkpoints, and metrics that are not kept. */
function notesOn(attempt: AttemptState): string[] {
  const lacks = attempt.agent?.lacks ?? [];
  return [
    ...lacks.map(({ name, said }) => `The machine failed the self-test "${name}": ${said}`),
    ...attemptSentences(attempt),
  ];
}

/** Each metric over all attempts: one that resumes continues at its checkpoint. */
async function jobCurves(
  folder: string,
  { attempts, percentages }: JobState,
  max: number,
): Promise<JobDetail['curves']> {
  const stitcher = new CurveStitcher(percentages);
  const metrics = new Map<string, CurvePoint[]>();
  for (const { job, attempt } of attempts) {
    const journal = path.join(attemptFolder(folder, job, attempt), attemptFiles.journal);
    const curve = attemptCurve(metrics, attempt);
    await eachProgress(journal, (entry) => stitcher.add(entry, curve));
  }
  return [...metrics]
    .slice(0, maxMetrics)
    .map(([metric, points]) => ({ metric, unit: stitcher.unit, points: everyNth(points, max) }));
}

/** Adds what an attempt measured; what a later one does again stays, as that one's own. */
const attemptCurve = (metrics: Map<string, CurvePoint[]>, attempt: number): Curve => ({
  add: ({ metrics: values, epochs, step }) => {
    for (const [name, value] of Object.entries(values)) {
      if (!Number.isFinite(value)) continue;
      const points = metrics.get(name) ?? [];
      metrics.set(name, points);
      points.push({ attempt, x: fewDigits(epochs ?? step), y: fewDigits(value) });
    }
  },
  cutFrom: () => undefined,
  forget: (names) => {
    for (const name of names) {
      const others = metrics.get(name)?.filter((point) => point.attempt !== attempt);
      metrics.set(name, others ?? []);
    }
  },
});
