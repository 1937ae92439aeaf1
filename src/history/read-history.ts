import { stat } from 'node:fs/promises';
import type { LogEvent } from '../eventlog/events.ts';
import { beginningOf, scanEventLog, type LogBeginning } from '../eventlog/read-event-log.ts';
import { Fault } from '../fault/fault.ts';
import type { JobHistory } from './history.ts';
import type { LogFacts } from './log-facts.ts';
import { LogFold, type FoldOptions } from './log-fold.ts';

export interface HistoryOptions extends FoldOptions {
  signal?: AbortSignal | undefined;
  /** Default: all events. */
  only?: ((event: LogEvent) => boolean) | undefined;
}

export interface ReadHistory {
  jobs: JobHistory[];
  facts: LogFacts;
  /** Bytes that are not events. */
  garbledBytes: number;
}

/** Reads logs in any order, also of the same jobs; memory grows with the number of jobs, not with the logs. */
export async function readHistory(
  paths: readonly string[],
  options: HistoryOptions = {},
): Promise<ReadHistory> {
  const { signal, only } = options;
  const fold = new LogFold(options);
  const add = (event: LogEvent): void => {
    if (only === undefined || only(event)) fold.add(event);
  };
  let garbledBytes = 0;
  const onGarbled = ({ bytes }: { bytes: Uint8Array }): void => void (garbledBytes += bytes.length);
  for (const { path, within, isKnown } of await sortByTime(paths, signal)) {
    fold.nextLog(paths.length > 1 ? path : undefined);
    const { isYearless, moment } = await scanEventLog(path, add, { signal, onGarbled, within });
    if (isYearless && moment === undefined && !isKnown) fold.facts.guessedYear = true;
  }
  return { jobs: fold.finish(), facts: fold.facts, garbledBytes };
}

interface DatedLog {
  path: string;
  /** A time after its first date, from another of the logs. */
  within: number | undefined;
  /** Whether the year of that log is known. */
  isKnown: boolean;
}

const halfYear = 183 * 86_400_000;

/**
 * Rotated logs must be read in order. A log without a year, whose file date may be that of a copy, is placed as near as
 * possible to a log with one, or else to the log written first.
 */
async function sortByTime(paths: readonly string[], signal: AbortSignal | undefined): Promise<DatedLog[]> {
  if (paths.length < 2) return paths.map((path) => ({ path, within: undefined, isKnown: false }));
  const logs: (DatedLog & LogBeginning)[] = [];
  for (const path of paths) {
    await refusePipe(path);
    logs.push({ path, within: undefined, isKnown: false, ...(await beginningOf(path, { signal })) });
  }
  const guessed = logs.filter(isGuessed);
  const known = logs.find((log) => !isGuessed(log) && log.first !== undefined);
  const anchor = known ?? guessed.toSorted((a, b) => a.writtenAt - b.writtenAt)[0];
  for (const log of guessed) {
    if (log === anchor || anchor?.first === undefined) continue;
    log.within = anchor.first + halfYear;
    log.isKnown = known !== undefined;
    log.first = (await beginningOf(log.path, { signal, within: log.within })).first;
  }
  const start = ({ first = Infinity }: LogBeginning): number => first;
  return logs.sort((a, b) => (start(a) === start(b) ? 0 : start(a) - start(b)));
}

const isGuessed = ({ isYearless, moment }: LogBeginning): boolean => isYearless && moment === undefined;

async function refusePipe(path: string): Promise<void> {
  const facts = await stat(path).catch(() => undefined);
  if (facts?.isFIFO() === true)
    throw new Fault('usage', `${path} is a pipe, which can be read only once`, {
      fix: 'name a pipe alone, or join the logs in it: `cat a.log b.log | updraft report -`',
    });
}
