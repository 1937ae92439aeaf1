import { counted } from '../../base/counted.ts';
import { firstFew, printable } from '../../base/printable.ts';
import type { Explanation } from '../../diagnosis/explanation.ts';
import type { JobState, RunState } from '../../journal/state.ts';
import type { ResourceChange } from '../../pool/pool.ts';
import { roundPlan } from '../../pool/read-plan.ts';
import type { NewFiles } from '../../run/rounds.ts';
import { changedFiles, currentFiles, type UnfinishedState, unfinishedJobs } from '../../run/retry-run.ts';
import { findJob } from '../../run/run-states.ts';
import { explainedLabel } from '../../why/explanation-view.ts';
import { maxLabels } from '../../why/group-explanations.ts';
import { type Need, whatMustChange } from '../../why/what-must-change.ts';
import { explainRun } from '../why/explain-run.ts';
import { wrap } from '../../base/text-table.ts';

export interface RetrySelection {
  /** As the user names them; all when empty. */
  jobs: readonly string[];
  change: ResourceChange;
  withNewFiles: boolean;
}

/** A job to retry: what happened, and what must change. */
export interface PlannedRetry extends Need {
  job: string;
  lack: UnfinishedState;
  explanation: Explanation;
}

export interface RetryPlan {
  retries: PlannedRetry[];
  /** Named jobs that need no retry, with the reason. */
  left: { job: string; why: string }[];
  /** The user's files that differ from the run's copies. */
  changed: string[];
  newFiles: NewFiles | undefined;
}

/** What a retry of the run would do, and why. Changes nothing. */
export async function planRetry(
  folder: string,
  state: RunState,
  selection: RetrySelection,
  now: number,
): Promise<RetryPlan> {
  const named = selection.jobs.map((word) => findJob(state, word));
  const selected = named.length === 0 ? state.jobs : state.jobs.filter((job) => named.includes(job));
  const lacking = await unfinishedJobs(folder, selected);
  const plan = await roundPlan(folder, state.rounds);
  const current = await currentFiles(plan).catch((error: unknown) => {
    if (selection.withNewFiles) throw error;
    // Missing originals do not matter: the run has copies.
    return { named: plan.spec.train.files, files: plan.files };
  });
  const changed = changedFiles(plan.files, current.files);
  const { memoryBytes, diskBytes, timeSeconds } = selection.change;
  const changes = {
    memory: memoryBytes !== undefined,
    disk: diskBytes !== undefined,
    time: timeSeconds !== undefined,
    files: { changed, used: selection.withNewFiles, areSent: plan.files.length > 0 },
  };
  const jobs = lacking.map(({ job }) => job);
  const explanations = await explainRun(folder, state, jobs, now);
  const retries = lacking.flatMap(({ job, lack }, index) => {
    const explanation = explanations[index];
    if (explanation === undefined) return [];
    const need = lack === 'missing' ? lostResult : whatMustChange(explanation, changes);
    return [{ job: job.id, lack, explanation, ...need }];
  });
  const left = named
    .filter((job) => !jobs.includes(job))
    .map((job) => ({ job: job.id, why: whyLeftOut(job) }));
  return { retries, left, changed, newFiles: selection.withNewFiles ? current : undefined };
}

const lostResult: Need = {
  what: 'Nothing: it had a valid result, which is gone or incomplete.',
  isMet: true,
};

function whyLeftOut({ status, outcome, isKeptBack, held }: JobState): string {
  if (outcome === 'success') return 'has a valid result';
  if (isKeptBack) return 'waits for the canary jobs';
  if (held !== undefined) return 'is held, and is released automatically or by whoever holds it';
  return status === 'running' ? 'is running' : 'waits for its next attempt';
}

/** What would be retried, by cause: which jobs, what happened, what must change. */
export function retryText({ retries, left }: RetryPlan, total: number, width: number): string {
  const groups = Map.groupBy(retries, ({ lack, explanation, what }) =>
    [lack, explanation.title, what].join('\n'),
  );
  const lines = [...groups.values()].flatMap((group) => groupLines(group, width));
  return [
    `${retries.length === total ? '' : `${retries.length} of `}${counted(total, 'job')} to try again`,
    ...lines,
    ...left.map(({ job, why }) => `\n${job} is left alone: it ${why}`),
  ].join('\n');
}

function groupLines(group: readonly PlannedRetry[], width: number): string[] {
  const [first] = group;
  if (first === undefined) return [];
  const { lack, explanation, what, isMet } = first;
  const labels = group.map((one) => explainedLabel(one.explanation));
  const said = lack === 'missing' ? [] : explanation.because.slice(0, 1);
  return [
    '',
    ...wrap(
      `${firstFew(labels, maxLabels)} ${lack}: ${lack === 'missing' ? 'its results are gone' : explanation.title}`,
      width,
      '',
      '  ',
    ),
    ...said.flatMap((sentence) => wrap(printable(sentence), width, '  ', '    ')),
    ...wrap(`what must change: ${printable(what)}`, width, '  ', '    '),
    ...(isMet === false
      ? wrap('Without a change it will probably fail the same way.', width, '  ', '    ')
      : []),
  ];
}
