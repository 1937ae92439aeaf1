import type { RunState } from '../../journal/state.ts';
import { ledgerOf } from './event-ledger.ts';
import { logReport } from './log-report.ts';
import type { ReadLogs } from './read-logs.ts';
import { runJobs } from './run-jobs.ts';

/** A run by its own state, accounted for as a log would be. */
export function readRun(folder: string, state: RunState): ReadLogs {
  const jobs = runJobs(state);
  const facts = {
    ...{ events: 0, backwards: 0, cut: 0, repeated: 0 },
    firstTime: first(jobs.map(({ from }) => from)),
    lastTime: first(
      jobs.map(({ to }) => -to),
      -1,
    ),
  };
  const ledger = ledgerOf(jobs, facts);
  return { jobs, ledger, report: logReport([folder], jobs, ledger, []) };
}

const first = (times: readonly number[], sign = 1): number | undefined =>
  times.length === 0 ? undefined : sign * times.reduce((least, time) => Math.min(least, time));
