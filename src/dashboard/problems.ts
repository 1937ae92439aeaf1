import { clip } from '../base/text-table.ts';
import { causeInfo, type Cause } from '../codes/causes.ts';
import { kinds, type FaultKind } from '../fault/kinds.ts';
import { causeOfJob, causeOfAttempt, faultOf } from '../history/run-jobs.ts';
import { describeConnection } from '../journal/describe-attempt.ts';
import type { FaultRecord } from '../journal/entry.ts';
import { silence } from '../journal/silence.ts';
import type { AttemptState, JobState, RunState } from '../journal/state.ts';
import type { Board, Problem } from './page-data.ts';
import { sentenceOf } from './waste.ts';

const maxMessageChars = 600;
const maxExamples = 5;

/** What is wrong with the run now: each cause once, those that need the user first. Pure. */
export function problemsOf(state: RunState, now: number): Problem[] {
  const found = new Map<string, Problem>();
  for (const job of state.jobs)
    for (const problem of jobProblems(job, now)) {
      const key = `${problem.cause} ${String(problem.needsYou)}`;
      const known = found.get(key);
      if (known === undefined) found.set(key, problem);
      else {
        known.jobs += 1;
        if (known.examples.length < maxExamples) known.examples.push(job.id);
      }
    }
  return [...found.values()].sort((a, b) => Number(b.needsYou) - Number(a.needsYou) || b.jobs - a.jobs);
}

function jobProblems(job: JobState, now: number): Problem[] {
  const last = job.attempts.at(-1);
  const cause = causeOfJob(job);
  if (job.held !== undefined) return [problemOf(job, cause ?? 'user', job.held, true)];
  if (job.status === 'ended') {
    if (cause === undefined || job.outcome === 'stopped') return [];
    return [problemOf(job, cause, job.fault ?? faultOf(last), true)];
  }
  if (last === undefined) return [];
  if (job.status === 'waiting') return [problemOf(job, cause ?? 'silent-end', faultOf(last), false)];
  const lost = last.pool?.disconnected;
  if (lost !== undefined)
    return [{ ...problemOf(job, 'disconnected', undefined, false), message: describeConnection(lost) }];
  return [...(silence(last, now) !== undefined ? [silent(job)] : []), ...setbacks(job, last)];
}

function problemOf(job: JobState, cause: Cause, fault: FaultRecord | undefined, needsYou: boolean): Problem {
  return {
    cause,
    what: sentenceOf(cause),
    jobs: 1,
    examples: [job.id],
    message: clip(fault?.message ?? '', maxMessageChars),
    fix: clip(fault?.fix ?? causeInfo(cause).advice, maxMessageChars),
    needsYou,
  };
}

const silent = (job: JobState): Problem => ({
  ...problemOf(job, 'silent-end', undefined, false),
  cause: 'silent',
  what: 'The agent has not reported for more than a minute: the machine or the network may be down.',
});

function setbacks(job: JobState, { agent }: AttemptState): Problem[] {
  const open = agent?.fetches.filter(({ done }) => !done) ?? [];
  const last = open.flatMap((fetch) => fetch.setbacks).at(-1);
  if (last === undefined) return [];
  return [{ ...problemOf(job, last.fault.kind, last.fault, false), fix: '' }];
}

/** What Updraft and the pool are doing about it. Pure. */
export function activitiesOf(state: RunState): Board['doing'] {
  const counts = new Map<string, number>();
  for (const job of state.jobs) {
    const what = activityOf(job);
    if (what !== undefined) counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return [...counts].map(([what, jobs]) => ({ what, jobs })).sort((a, b) => b.jobs - a.jobs);
}

function activityOf(job: JobState): string | undefined {
  const last = job.attempts.at(-1);
  if (job.status === 'ended') return undefined;
  if (job.stopRequested) return 'being stopped';
  if (job.held !== undefined)
    return canPass(job.held.kind) ? 'held; a rule of the run releases it after a wait' : 'held until you act';
  if (last === undefined) return undefined;
  if (job.status === 'waiting') return `waiting for another attempt (last one: ${after(last)})`;
  const failedOver = last.agent?.fetches.some((fetch) => !fetch.done && fetch.setbacks.length > 0) === true;
  if (failedOver) return 'resuming a transfer, possibly from another server';
  const before = job.attempts.at(-2);
  return before === undefined ? undefined : `running again (last attempt: ${after(before)})`;
}

const after = (attempt: AttemptState): string => causeOfAttempt(attempt) ?? 'success';

const canPass = (kind: FaultKind): boolean => kinds[kind].retry !== 'never';
