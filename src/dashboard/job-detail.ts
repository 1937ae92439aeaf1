import path from 'node:path';
import { clip, printable } from '@updraft/base';
import { attemptSentences, explainRunJob, type Explanation } from '@updraft/account/why';
import { attemptFiles, attemptFolder } from '@updraft/account/run-folder';
import {
  type AttemptState,
  type Curve,
  CurveStitcher,
  eachProgress,
  endedBadly,
  isOpen,
  type JobState,
  type RunState,
} from '@updraft/account/journal';
import { everyNth, fewDigits } from './curve-book.ts';
import { partsOf } from './job-row.ts';
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
  const { argument } = source;
  return {
    id: job.id,
    explanation: shown(explanation),
    attempts: job.attempts.map((attempt) => {
      const { number, ending, why, site, machine, fault } = attempt;
      return {
        attempt: number,
        outcome: ending,
        why: clip(printable(why), 400),
        where: clip(printable([site, machine].filter((part) => part !== '').join(', ')), 200),
        fault: clip(printable(fault?.message ?? ''), maxTextChars),
        fix: clip(printable(fault?.fix ?? ''), maxTextChars),
        notes: notesOn(attempt).map((note) => clip(printable(note), 600)),
        parts: partsOf(attempt),
      };
    }),
    curves: await jobCurves(source.folder, job, points),
    commands: [
      { what: 'what it printed', command: `updraft logs ${argument} ${job.id}` },
      { what: 'what it printed on stderr', command: `updraft logs ${argument} ${job.id} --err` },
      ...(endedBadly(job) ? [{ what: 'why it failed', command: `updraft why ${argument} ${job.id}` }] : []),
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
  for (const { job, number: attempt } of attempts) {
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
