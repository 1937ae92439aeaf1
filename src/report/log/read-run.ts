import type { RunState } from '../../journal/state.ts';
import { noFacts } from '../../history/log-facts.ts';
import { ledgerOf } from '../event-ledger.ts';
import { logReport, type LogReport } from '../log-report.ts';
import type { ReadLogs } from '../read-logs.ts';
import { runJobs } from './run-jobs.ts';
import { runResources, type RunContext } from './run-resources.ts';
import { runPhases, type RunPhases } from '../run-phases.ts';

/** A run by its own state, accounted for as a log would be. */
export function readRun(folder: string, state: RunState, context: RunContext = {}): ReadLogs {
  const jobs = runJobs(state, context);
  const facts = {
    ...noFacts,
    firstTime: first(jobs.map(({ from }) => from)),
    lastTime: first(
      jobs.map(({ to }) => -to),
      -1,
    ),
  };
  const ledger = ledgerOf(jobs, facts);
  const report = logReport([folder], jobs, ledger, notesOn(state));
  return { jobs, ledger, report: { ...report, resources: runResources(jobs, context) } };
}

function notesOn({ trouble, garbled }: RunState): string[] {
  return [
    ...(trouble === undefined ? [] : [`${trouble.message} ${trouble.fix}`]),
    ...(garbled === 0
      ? []
      : [`${garbled} line${garbled === 1 ? '' : 's'} of the journals could not be read and are left out.`]),
  ];
}

/** What `report --json` prints of a run: the keys of any report, and what only a run has. */
export interface RunReport extends LogReport, RunPhases {
  run: string;
  name: string;
  pool: string;
  createdAt: string | null;
  endedAt: string | null;
  /** Lines of the journals that could not be read. */
  garbledLines: number;
}

export function runReport(folder: string, state: RunState, context: RunContext = {}): RunReport {
  const { run, name, pool, createdAt = null, endedAt = null, garbled } = state;
  return {
    ...readRun(folder, state, context).report,
    run,
    name,
    pool,
    createdAt,
    endedAt,
    ...runPhases(state),
    garbledLines: garbled,
  };
}

const first = (times: readonly number[], sign = 1): number | undefined =>
  times.length === 0 ? undefined : sign * times.reduce((least, time) => Math.min(least, time));
