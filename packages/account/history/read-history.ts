import { collectGarbageSoon, releaseMemory } from '@updraft/base/processes';
import {
  beginningOf,
  type LogBeginning,
  type LogEvent,
  type LogSource,
  scanLog,
} from '@updraft/htcondor/eventlog';
import type { JobHistory } from './history.ts';
import type { LogFacts } from './log-facts.ts';
import { LogFold, type FoldOptions } from './log-fold.ts';

export interface HistoryOptions extends Omit<FoldOptions, 'evidence' | 'dagOf'> {
  signal?: AbortSignal | undefined;
  /**
   * The DAG whose jobs are read: the DAG files of its clusters, as DAGMan says. Logs may have jobs of other DAGs
   * too, and of earlier runs. Without DAGMan's words, its own logs name the clusters; without those, all are read.
   */
  ofDag?: { clusters: ReadonlyMap<number, string> | undefined } | undefined;
  /** Default: all events. */
  only?: ((event: LogEvent) => boolean) | undefined;
  /** Whether to keep evidence for explanations. */
  evidence?: boolean | undefined;
}

export interface ReadHistory {
  jobs: JobHistory[];
  facts: LogFacts;
  /** Bytes that are not events. */
  garbledBytes: number;
  /** The first of them. */
  garbledStart: Uint8Array;
}

/** Enough to recognize what they are. */
const startBytes = 4096;
/** Collecting garbage so often costs nothing that shows. */
const eventsPerCollection = 100_000;

/** Reads logs in any order, also of the same jobs; memory grows with the number of jobs, not with the logs. */
export async function readHistory(
  sources: readonly LogSource[],
  { signal, only, ofDag, evidence = false, ...options }: HistoryOptions = {},
): Promise<ReadHistory> {
  const { dagOf, clusters } = await submittersOf(sources, ofDag, signal);
  const fold = new LogFold({ ...options, dagOf });
  const add = (event: LogEvent): void => {
    if (only?.(event) !== false && clusters?.has(event.cluster) !== false) fold.add(event);
    else fold.facts.events += 1;
    if (fold.facts.events % eventsPerCollection === 0) collectGarbageSoon();
  };
  let garbledBytes = 0;
  const start: number[] = [];
  const onGarbled = ({ bytes }: { bytes: Uint8Array }): void => {
    garbledBytes += bytes.length;
    start.push(...bytes.subarray(0, startBytes - start.length));
  };
  const isOneOfMany = new Set(sources.map(({ name, partOf = name }) => partOf)).size > 1;
  const logs = await sortByTime(sources, signal);
  for (const { source, within, isKnown } of logs) {
    const { name, partOf = name } = source;
    const quotedAs = isOneOfMany ? name : name.split('/').at(-1);
    fold.nextLog({
      log: isOneOfMany ? partOf : undefined,
      evidence: evidence ? quotedAs : undefined,
      isLast: source === logs.at(-1)?.source,
    });
    const { isYearless, moment } = await scanLog(source, add, { signal, onGarbled, within, isPassing: true });
    if (isYearless && moment === undefined && !isKnown) fold.facts.guessedYear = true;
  }
  const jobs = fold.finish();
  // What reading leaves behind is a third of all, and what follows needs room.
  if (jobs.length > 10_000) releaseMemory();
  return { jobs, facts: fold.facts, garbledBytes, garbledStart: Uint8Array.from(start) };
}

interface DatedLog {
  source: LogSource;
  /** A time after its first date, from another of the logs. */
  within: number | undefined;
  /** Whether the year of that log is known. */
  isKnown: boolean;
}

const halfYear = 183 * 86_400_000;

/**
 * Rotated logs must be read in order, whatever the order of their names. A log without a year, whose file date may be
 * that of a copy, is placed as near as possible to a log with one, or else to the log written first.
 */
async function sortByTime(
  sources: readonly LogSource[],
  signal: AbortSignal | undefined,
): Promise<DatedLog[]> {
  if (sources.length < 2) return sources.map((source) => ({ source, within: undefined, isKnown: false }));
  const logs: (DatedLog & LogBeginning)[] = [];
  for (const source of sources)
    logs.push({ source, within: undefined, isKnown: false, ...(await beginningOf(source, { signal })) });
  const guessed = logs.filter(isGuessed);
  const known = logs.filter((log) => !isGuessed(log) && log.first !== undefined);
  const oldest = guessed.toSorted((a, b) => a.source.writtenAt - b.source.writtenAt)[0];
  const byDistance = (log: LogBeginning) => known.toSorted((a, b) => gap(a, log) - gap(b, log));
  for (const log of guessed) {
    const anchor = byDistance(log)[0] ?? oldest;
    if (log === anchor || anchor?.first === undefined) continue;
    const { writtenAt } = log.source;
    // Archives may lose the date of a file.
    const isDated = writtenAt > anchor.first - halfYear;
    log.within = Math.min(anchor.first + halfYear, isDated ? writtenAt : Infinity);
    log.isKnown = known.length > 0;
    log.first = (await beginningOf(log.source, { signal, within: log.within })).first;
  }
  const start = ({ first = Infinity }: LogBeginning): number => first;
  // DAGMan's own log has fewer events of the same jobs: it adds to what the jobs' logs say.
  const isLast = ({ source }: DatedLog): number => (isOfDagman(source) ? 1 : 0);
  return logs.sort(
    (a, b) =>
      isLast(a) - isLast(b) ||
      (start(a) === start(b) ? (a.source.name < b.source.name ? -1 : 1) : start(a) - start(b)),
  );
}

const gap = ({ first: from = Infinity }: LogBeginning, { first: to = 0 }: LogBeginning): number =>
  Math.abs(from - to);

const isGuessed = ({ isYearless, moment }: LogBeginning): boolean => isYearless && moment === undefined;

const ofDagman = '.nodes.log';
const isOfDagman = ({ name }: LogSource): boolean => name.endsWith(ofDagman);

/** By DAGMan's own logs: which DAG submitted a job, and the clusters of `ofDag`. The logs of nodes do not say it. */
async function submittersOf(
  sources: readonly LogSource[],
  ofDag: HistoryOptions['ofDag'],
  signal: AbortSignal | undefined,
): Promise<Pick<FoldOptions, 'dagOf'> & { clusters?: ReadonlySet<number> }> {
  const hasDagmans = sources.length > 1 && sources.some(isOfDagman);
  if (!hasDagmans && ofDag?.clusters === undefined) return {};
  const keyOf = ({ cluster, timeText }: LogEvent): string => `${cluster} ${timeText}`;
  const dags = new Map<string, string>();
  const clusters = new Set(ofDag?.clusters?.keys());
  for (const source of sources.filter(isOfDagman)) {
    const dag = source.name.slice(0, -ofDagman.length);
    const learn = (event: LogEvent): void => {
      if (event.kind !== 'submit') return;
      dags.set(keyOf(event), dag);
      clusters.add(event.cluster);
    };
    await scanLog(source, learn, { signal });
  }
  const dagOf = (event: LogEvent) => dags.get(keyOf(event)) ?? ofDag?.clusters?.get(event.cluster);
  return ofDag === undefined ? { dagOf } : { dagOf, clusters };
}
