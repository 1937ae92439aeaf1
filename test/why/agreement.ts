import type { LogEvent } from '@updraft/htcondor/eventlog';
import { explainRunJob, explainStory, type Explanation } from '@updraft/account/why';
import { type JobHistory, LogFold } from '@updraft/account/history';
import { siteOrMachine } from '@updraft/account/testing';
import { fold, type JobState, type RunState } from '@updraft/account/journal';
import { EventEntries } from '../../src/pool/condor/follow/event-log-source.ts';
import { placeOf } from '../../src/run/describe-job.ts';

/** What all commands must say alike about a job. */
interface Account {
  outcome: string;
  cause: string;
  /** Where its last attempt ran. */
  place: string;
}

/** What each command says about a job. */
export interface JobAccounts {
  job: string;
  said: Record<string, Account>;
}

const accountOf = (outcome: string, cause: string | undefined, place: string): Account => ({
  outcome: outcome === 'wrong-output' ? 'failed' : outcome,
  // An earlier failure of a job that continues is not its state.
  cause: isOpen(outcome) || cause === 'none' ? '' : (cause ?? ''),
  place,
});

const isOpen = (outcome: string): boolean => ['running', 'waiting', 'success'].includes(outcome);

function byHistory({ outcome, cause, attempts }: JobHistory): Account {
  const last = attempts.at(-1);
  return accountOf(outcome, cause, last === undefined ? '' : siteOrMachine(last));
}

/** `open`: the outcome of a looping job, `waiting` or `running`. */
const byExplanation = ({ standing, cause }: Explanation, open: string, place: string): Account =>
  accountOf(standing === 'looping' ? open : standing, cause, place);

/** What `report`, `why`, `status` and the dashboard say about the jobs of a log. DAG nodes are never jobs of a run. */
export function accountsOfLog(events: readonly LogEvent[]): JobAccounts[] {
  const logged = jobsOf(events, new LogFold());
  const explained = jobsOf(events, new LogFold({ evidence: 'job.log' }));
  const state = statusOf(events);
  return [...logged].map(([id, history]) => {
    const quoted = explained.get(id) ?? history;
    const why = explainStory(quoted);
    const said: JobAccounts['said'] = {
      report: byHistory(history),
      why: byExplanation(why, quoted.outcome, byHistory(quoted).place),
    };
    const job = history.node === undefined ? state.get(id) : undefined;
    // A job with only a submit event is known from the run's own journal.
    if (job !== undefined) Object.assign(said, accountsOfState(job, quoted));
    return { job: id, said };
  });
}

function jobsOf(events: readonly LogEvent[], folding: LogFold): Map<string, JobHistory> {
  for (const event of events) folding.add(event);
  return new Map(folding.finish().map((job) => [job.id, job]));
}

/** What `status` and the dashboard say, from the journal entries made of a log. */
function accountsOfState(job: JobState, history?: JobHistory): JobAccounts['said'] {
  const place = placeOf(job);
  return {
    status: { ...byHistory(job), place },
    page: byExplanation(explainRunJob({ job, entries: [] }), job.status, place),
    ...(history === undefined
      ? {}
      : {
          detail: byExplanation(
            explainRunJob({ job, entries: [], logged: { history, rules: undefined } }),
            job.status,
            place,
          ),
        }),
  };
}

function statusOf(events: readonly LogEvent[]): Map<string, JobState> {
  const entries = new EventEntries(
    { willRelease: () => false },
    {
      jobOf: (cluster, proc) => ({ job: `${cluster}.${proc}`, round: 1 }),
      sizeOf: () => 0,
      retriesOf: () => ({ round: 1, releases: 0 }),
    },
  );
  for (const event of events) entries.add(event);
  return new Map(fold(entries.take()).jobs.map((job) => [job.id, job]));
}

/** The same for the jobs of a run, by its journals. */
export const accountsOfRun = (state: RunState): JobAccounts[] =>
  state.jobs.map((job) => ({ job: job.id, said: { report: byHistory(job), ...accountsOfState(job) } }));

/** One line for each job on which they differ. */
export function differences(all: readonly JobAccounts[]): string[] {
  return all.flatMap(({ job, said }) => {
    const words = Object.entries(said).map(([who, one]) => [who, JSON.stringify(one)] as const);
    const isSame = words.every(([, one]) => one === words[0]?.[1]);
    return isSame ? [] : [`${job}: ${words.map(([who, one]) => `${who} ${one}`).join(', ')}`];
  });
}
