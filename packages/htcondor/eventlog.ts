export { latin1Text, ownCopy, refuseUtf16, remembering } from './eventlog/log-text.ts';
export type { EvictedDetails } from './eventlog/decode.ts';
export type { Resource, Termination } from './eventlog/details.ts';
export type { EventOf, Garbled, LogEvent } from './eventlog/events.ts';
export type { EventKind } from './eventlog/kinds.ts';
export { type LogPlaces, logFile, logSources } from './eventlog/log-sources.ts';
export { readEventLog, scanEventLog } from './eventlog/read-event-log.ts';
export {
  type LogBeginning,
  type LogSource,
  type ReadOptions,
  beginningBytes,
  beginningOf,
  gather,
  headBytes,
  isEventLog,
  scanLog,
  unreadNotes,
} from './eventlog/scan-log.ts';
export { EventLogTail, followEventLog } from './eventlog/tail.ts';
