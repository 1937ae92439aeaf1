/** The library: event logs of HTCondor, where the time of their jobs went, and charts of it. */
import { ledger } from '@updraft/account/report';
import { followEventLog } from '@updraft/htcondor/eventlog';

export { followEventLog, ledger };
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
export {
  type AttemptRow,
  type Ledger,
  type JobRow,
  columns,
  columnLabels,
  type Amounts,
  type Column,
  readLogs,
  type ReadLogs,
  type LogReport,
  reportCharts,
} from '@updraft/account/report';
export type { Chart } from '@updraft/view/document';
export { type Cause } from '@updraft/account/codes';
export { type AttemptHistory, type JobHistory } from '@updraft/account/history';
export { Fault } from '@updraft/account/fault';
