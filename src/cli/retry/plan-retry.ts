import path from 'node:path';
import { counted, firstFew, printable, wrap } from '@updraft/base';
import type { Explanation } from '../../diagnosis/explanation.ts';
import type { Plan } from '../../job/plan.ts';
import type { JobState, RunState } from '../../journal/state.ts';
import type { ResourceChange } from '../../pool/pool.ts';
import { readPlan, roundPlan } from '../../pool/read-plan.ts';
import { compareJobFile, type Correction } from '../../run/rounds.ts';
import { type UnfinishedState, unfinishedJobs } from '../../run/retry-run.ts';
import { findJob } from '../../run/run-states.ts';
import { explainedLabel } from '../../why/explanation-view.ts';
import { maxLabels } from '../../why/group-explanations.ts';
import { type Need, whatMustChange } from '../../why/what-must-change.ts';
import { explainRun } from '../why/explain-run.ts';

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
  /** How the job file and its files differ from the run's. */
  correction: Correction;
  /** The job file's plan, if the retry uses it. */
  now: Plan | undefined;
}

/** What a retry of the run would do, and why. Changes nothing. */
export async function planRetry(
  folder: string,
  state: RunState,
  selection: RetrySelection,
  now: number,
  load: (run: Plan) => Promise<Plan>,
): Promise<RetryPlan> {
  const named = selection.jobs.map((word) => findJob(state, word));
  const selected = named.length === 0 ? state.jobs : state.jobs.filter((job) => named.includes(job));
  const lacking = await unfinishedJobs(folder, selected);
  const [first, last] = [await readPlan(folder), await roundPlan(folder, state.rounds)];
  const comparing = load(first).then((loaded) => ({
    loaded,
    correction: compareJobFile(first, last, loaded),
  }));
  const { loaded, correction } = await comparing.catch((error: unknown) => {
    if (selection.withNewFiles) throw error;
    // What became of the job file does not matter: the run has its plan and copies.
    return { loaded: undefined, correction: { changes: [], files: [], notUsed: [] } };
  });
  const { changes: keys, files } = correction;
  const changed = [...(keys.length > 0 ? [path.basename(first.file)] : []), ...files];
  const { memoryBytes, diskBytes, timeSeconds } = selection.change;
  const changes = {
    memory: memoryBytes !== undefined,
    disk: diskBytes !== undefined,
    time: timeSeconds !== undefined,
    files: { changed, used: selection.withNewFiles },
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
  return { retries, left, correction, now: selection.withNewFiles ? loaded : undefined };
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
export function retryText(plan: RetryPlan, total: number, width: number): string {
  const { retries, left } = plan;
  const groups = Map.groupBy(retries, ({ lack, explanation, what }) =>
    [lack, explanation.title, what].join('\n'),
  );
  const lines = [...groups.values()].flatMap((group) => groupLines(group, width));
  return [
    `${retries.length === total ? '' : `${retries.length} of `}${counted(total, 'job')} to try again`,
    ...lines,
    ...left.map(({ job, why }) => `\n${job} is left alone: it ${why}`),
    ...(plan.now === undefined ? [] : correctionLines(plan.correction, width)),
  ].join('\n');
}

/** What is taken from the job file, old and new, and what is not. */
function correctionLines({ changes, notUsed }: Correction, width: number): string[] {
  const too = `${firstFew(notUsed, 8)} changed, too, which a retry does not use: \`updraft run --new\` does.`;
  return [
    ...(changes.length > 0 ? ['', 'the job file has changed since:'] : []),
    ...changes.flatMap(({ key, from, to }) => [
      `  ${printable(key)}: ${printable(from)}`,
      `    → ${printable(to)}`,
    ]),
    ...(notUsed.length > 0 ? ['', ...wrap(too, width)] : []),
  ];
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
