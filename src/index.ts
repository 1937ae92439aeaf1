/** The library: event logs of HTCondor, where the time of their jobs went, and charts of it. */
export { followEventLog } from './eventlog/tail.ts';
export { readEventLog, scanEventLog } from './eventlog/read-event-log.ts';
export { logFile, logSources, type LogPlaces } from './eventlog/log-sources.ts';
export { scanLog, type LogSource, type ReadOptions } from './eventlog/scan-log.ts';
export type { EventOf, Garbled, LogEvent } from './eventlog/events.ts';
export type { EventKind } from './eventlog/kinds.ts';
export { ledger, type AttemptRow, type Ledger, type JobRow } from './report/ledger.ts';
export { columns, columnLabels, type Amounts, type Column } from './report/columns.ts';
export type { Cause } from './codes/causes.ts';
export type { AttemptHistory, JobHistory } from './history/history.ts';
export { readLogs, type ReadLogs } from './report/read-logs.ts';
export type { LogReport } from './report/log-report.ts';
export { reportCharts, type Chart } from './report/report-charts.ts';
export { Fault } from './fault/fault.ts';
