import { BatchIterator } from './batch-iterator.ts';
import type { LogEvent } from './events.ts';
import { logFile } from './log-sources.ts';
import { type Dating, openLog, scanLog, type ReadOptions } from './scan-log.ts';

/** The events of a log, in order, in constant memory. Dates without a year are placed before the file's own date. */
export const readEventLog = (path: string, options: ReadOptions = {}): AsyncIterableIterator<LogEvent> =>
  new BatchIterator(eventBatches(path, options));

async function* eventBatches(path: string, options: ReadOptions): AsyncGenerator<LogEvent[], void, void> {
  let events: LogEvent[] = [];
  const log = await openLog(await logFile(path), (event) => events.push(event), options);
  try {
    for (let more = true; more;) {
      more = await log.next();
      yield events;
      events = [];
    }
  } finally {
    await log.close();
  }
}

/** Calls `onEvent` for each event of a log's file, in order. Returns what is known about its year. */
export const scanEventLog = async (
  path: string,
  onEvent: (event: LogEvent) => void,
  options: ReadOptions = {},
): Promise<Dating> => scanLog(await logFile(path), onEvent, options);
