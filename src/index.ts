/** The library: event logs of HTCondor, where the time of their jobs went, and charts of it. */
import { followEventLog } from '@updraft/htcondor/eventlog';

export { followEventLog };
export {
  readEventLog,
  scanEventLog,
  logFile,
  logSources,
  type LogPlaces,
  scanLog,
  type LogSource,
  type ReadOptions,
  type EventOf,
  type Garbled,
  type LogEvent,
  type EventKind,
} from '@updraft/htcondor/eventlog';
export { ledger, type AttemptRow, type Ledger, type JobRow } from './report/ledger.ts';
export { columns, columnLabels, type Amounts, type Column } from './report/columns.ts';
export type { Cause } from './codes/causes.ts';
export type { AttemptHistory, JobHistory } from './history/history.ts';
export { readLogs, type ReadLogs } from './report/read-logs.ts';
export type { LogReport } from './report/log-report.ts';
export { reportCharts, type Chart } from './report/report-charts.ts';
export { Fault } from './fault/fault.ts';
