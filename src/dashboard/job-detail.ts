import { clip, printable, given } from '@updraft/base';
import { attemptSentences, explainRunJob, type Explanation, standingWords } from '@updraft/account/why';
import {
  type AttemptState,
  endedBadly,
  isOpen,
  type JobState,
  type RunState,
} from '@updraft/account/journal';
import { jobLanes } from './job-lanes.ts';
import { partsOf } from './job-row.ts';
import type { JobDetail } from './page-data.ts';
import { actionOn, type RunSource } from './run-source.ts';

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
    lanes: await jobLanes(source.folder, job),
    commands: given(
      { what: 'what it printed', command: `updraft logs ${argument} ${job.id}` },
      { what: 'what it printed on stderr', command: `updraft logs ${argument} ${job.id} --err` },
      endedBadly(job) && { what: 'why it failed', command: `updraft why ${argument} ${job.id}` },
    ),
    stop: !isOpen(job) || job.stopRequested ? null : actionOn(source, 'stop', [job.id]),
    retry: endedBadly(job) ? actionOn(source, 'retry', [job.id]) : null,
  };
}

function shown({ standing, cause, title, because, doing, advice }: Explanation): JobDetail['explanation'] {
  const safe = (sentences: readonly string[]): string[] =>
    sentences.map((sentence) => clip(printable(sentence), maxTextChars));
  const [headline = ''] = safe([`${standingWords(standing)}: ${title}`]);
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
