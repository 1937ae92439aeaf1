import { causeInfo, type Cause } from '../codes/causes.ts';
import type { AttemptHistory, CacheShare, Activity, JobHistory } from '../history/history.ts';
import {
  addAmounts,
  inSeconds,
  lossColumns,
  noAmounts,
  slotColumns,
  sumOver,
  type Amounts,
} from './columns.ts';
import type { AttemptRow, JobRow } from './ledger.ts';
import { ascending, mean, quantile, standardDeviation } from './statistics.ts';

/** All attempts at a site; the times are those of successful attempts. */
export interface SiteReport {
  name: string;
  /** Jobs that had an attempt there. */
  jobs: number;
  attempts: number;
  /** Successful attempts. */
  success: number;
  lostSeconds: number;
  /** The main cause of the loss there. */
  cause: Cause | null;
  computeMeanSeconds: number | null;
  computeMedianSeconds: number | null;
  computeDeviationSeconds: number | null;
  computeMinSeconds: number | null;
  computeMaxSeconds: number | null;
  /** Null also if the log has no transfer events. */
  transferMedianSeconds: number | null;
  /** The median rate of HTCondor's own transfers; null for plugins, whose bytes no event records. */
  transferBytesPerSecond: number | null;
}

/** Smaller transfers are just the scripts of a job that gets its data in another way. */
const minRateBytes = 1_000_000;
export const unknownSite = 'unknown';

/** The machine without the name of its pilot, which differs for each slot. */
export const hostOf = (machine: string): string => machine.slice(machine.lastIndexOf('@') + 1);

/** The site of an attempt, or its machine if the log names no sites. */
export function siteNames(
  jobs: readonly Pick<JobHistory, 'attempts'>[],
): (attempt: Pick<AttemptHistory, 'site' | 'machine'>) => string {
  const named = jobs.some(({ attempts }) => attempts.some(({ site }) => site !== ''));
  return ({ site, machine }) => (named ? site : hostOf(machine)) || unknownSite;
}

export const secondsOf = ({ spans }: AttemptHistory, ...wanted: readonly Activity[]): number =>
  spans.reduce((sum, { doing, from, to }) => sum + (wanted.includes(doing) ? to - from : 0), 0) / 1000;

interface AttemptAt {
  job: JobHistory;
  attempt: AttemptHistory;
  row: AttemptRow;
}

export function attemptsBySite(jobs: readonly JobHistory[], rows: readonly JobRow[]): AttemptAt[] {
  return jobs.flatMap((job, index) =>
    job.attempts.flatMap((attempt, at) => {
      const row = rows[index]?.attempts[at];
      return row === undefined ? [] : [{ job, attempt, row }];
    }),
  );
}

/** The largest loss first. */
export function siteReports(
  jobs: readonly JobHistory[],
  rows: readonly JobRow[],
  hasTransfers: boolean,
): SiteReport[] {
  const nameOf = siteNames(jobs);
  return [...Map.groupBy(attemptsBySite(jobs, rows), ({ attempt }) => nameOf(attempt))]
    .map(([name, here]) => siteReport(name, here, hasTransfers))
    .sort((a, b) => b.lostSeconds - a.lostSeconds || b.attempts - a.attempts || a.name.localeCompare(b.name));
}

function siteReport(name: string, here: readonly AttemptAt[], hasTransfers: boolean): SiteReport {
  const good = here.filter(({ row }) => row.good).map(({ attempt }) => attempt);
  const compute = ascending(good.map((attempt) => secondsOf(attempt, 'executing')));
  const transfer = ascending(good.map((attempt) => secondsOf(attempt, 'input')));
  const rates = ascending(good.flatMap(transferRate));
  return {
    name,
    jobs: new Set(here.map(({ job }) => job.id)).size,
    attempts: here.length,
    success: good.length,
    lostSeconds: here.reduce((sum, { row }) => sum + lostMillis(row), 0) / 1000,
    cause: mainCause(here.map(({ row }) => row)),
    computeMeanSeconds: mean(compute),
    computeMedianSeconds: quantile(compute, 0.5),
    computeDeviationSeconds: standardDeviation(compute),
    computeMinSeconds: compute[0] ?? null,
    computeMaxSeconds: compute.at(-1) ?? null,
    transferMedianSeconds: hasTransfers ? quantile(transfer, 0.5) : null,
    transferBytesPerSecond: quantile(rates, 0.5),
  };
}

export const lostMillis = ({ millis }: { millis: Amounts }): number => sumOver(millis, lossColumns);

function mainCause(rows: readonly AttemptRow[]): Cause | null {
  const lost = new Map<Cause, number>();
  for (const row of rows)
    if (row.cause !== undefined) lost.set(row.cause, (lost.get(row.cause) ?? 0) + lostMillis(row) + 1);
  return [...lost].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}

/** Bytes per second of an attempt's input, if known. */
export function transferRate(attempt: AttemptHistory): number[] {
  const { receivedBytes = 0 } = attempt;
  const seconds = secondsOf(attempt, 'input');
  return receivedBytes < minRateBytes || seconds === 0 ? [] : [receivedBytes / seconds];
}

/** Attempts with something in common, such as a machine or GPU model. */
export interface GroupReport {
  name: string;
  attempts: number;
  /** Successful attempts. */
  success: number;
  /** Seconds per column. */
  slotSeconds: Amounts;
  slotTotalSeconds: number;
  lostSeconds: number;
  usefulShare: number | null;
}

/** Groups attempts by `nameOf`; those with an empty name are ignored. */
export function groupReports(
  rows: readonly JobRow[],
  nameOf: (attempt: AttemptRow) => string,
): GroupReport[] {
  const attempts = rows.flatMap((row) => row.attempts).filter((attempt) => nameOf(attempt) !== '');
  return [...Map.groupBy(attempts, nameOf)]
    .map(([name, group]) => groupReport(name, group))
    .sort((a, b) => b.lostSeconds - a.lostSeconds || a.name.localeCompare(b.name));
}

function groupReport(name: string, group: readonly AttemptRow[]): GroupReport {
  const sum = noAmounts();
  for (const { millis } of group) addAmounts(sum, millis);
  const slotSeconds = inSeconds(sum);
  const slotTotalSeconds = sumOver(slotSeconds, slotColumns);
  return {
    name,
    attempts: group.length,
    success: group.filter(({ good }) => good).length,
    slotSeconds,
    slotTotalSeconds,
    lostSeconds: sumOver(slotSeconds, lossColumns),
    usefulShare: slotTotalSeconds === 0 ? null : slotSeconds.usefulCompute / slotTotalSeconds,
  };
}

/** A machine on which attempts failed in a row. */
export interface BrokenMachine {
  name: string;
  attempts: number;
  inARow: number;
  cause: Cause;
  lostSeconds: number;
}

const minStreak = 5;
/** A single job may fail anywhere. */
const minJobs = 2;
/** Measured use: such a job may succeed elsewhere only because of a larger request, or because nobody measures there. */
export const measured: ReadonlySet<Cause> = new Set(['memory-exceeded', 'disk-exceeded', 'cpu-exceeded']);
/** Never a machine's fault. */
const blameless: ReadonlySet<Cause> = new Set(['user', 'evicted', 'disconnected', 'silent-end', ...measured]);
/** Faults of servers or the access point, the same for all machines. */
const fromElsewhere: ReadonlySet<Cause> = new Set([
  'object-missing',
  'access-refused',
  'server-failed',
  'transfer-stalled',
  'pool-policy',
]);

/** Whether it happens on every machine: then one is to blame only if the same job succeeded on another. */
export function isEverywhere(cause: Cause): boolean {
  const { change } = causeInfo(cause);
  return fromElsewhere.has(cause) || (change !== 'retry' && change !== 'staff');
}

export function brokenMachines(jobs: readonly JobHistory[], rows: readonly JobRow[]): BrokenMachine[] {
  return [...Map.groupBy(attemptsBySite(jobs, rows), ({ attempt }) => hostOf(attempt.machine))]
    .flatMap(([name, here]) => {
      const failed = longestFailure(here);
      const cause = mainCause(failed.map(({ row }) => row));
      const { size } = new Set(failed.map(({ job }) => job));
      if (name === '' || cause === null || failed.length < minStreak || size < minJobs) return [];
      const lost = here.reduce((sum, { row }) => sum + lostMillis(row), 0);
      return [{ name, attempts: here.length, inARow: failed.length, cause, lostSeconds: lost / 1000 }];
    })
    .sort((a, b) => b.inARow - a.inARow || a.name.localeCompare(b.name));
}

/** The longest series of failed attempts without a success between them. */
function longestFailure(here: readonly AttemptAt[]): AttemptAt[] {
  const startOf = ({ job, attempt }: AttemptAt) => job.from + (attempt.spans[0]?.from ?? 0);
  let longest: AttemptAt[] = [];
  let current: AttemptAt[] = [];
  for (const placed of here.toSorted((a, b) => startOf(a) - startOf(b))) {
    const { good, cause } = placed.row;
    if (good) current = [];
    if (cause === undefined || blameless.has(cause) || (isEverywhere(cause) && !isHealed(placed))) continue;
    current.push(placed);
    if (current.length > longest.length) longest = current;
  }
  return longest;
}

const isHealed = ({ job, attempt }: AttemptAt): boolean =>
  job.attempts.some(
    ({ ending, machine }) => ending === 'success' && hostOf(machine) !== hostOf(attempt.machine),
  );

/** What a cache or origin delivered to a run. */
export interface CacheReport {
  name: string;
  /** Fetches it delivered bytes to. */
  fetches: number;
  bytes: number;
  /** Of all bytes. */
  share: number | null;
  /** Its bytes over the time of the finished fetches it took part in. */
  bytesPerSecond: number | null;
  /** How often it was given up. */
  setbacks: number;
  /** Who preferred or avoided it. */
  wanted: string | null;
}

/** The largest delivery first; empty if no journal has any. */
export function cacheReports(jobs: readonly JobHistory[]): CacheReport[] {
  const shares = jobs.flatMap(({ attempts }) => attempts.flatMap(({ caches = [] }) => caches));
  const all = sumOf(shares, ({ bytes }) => bytes);
  return [...Map.groupBy(shares, ({ name }) => name)]
    .map(([name, own]): CacheReport => {
      const bytes = sumOf(own, (one) => one.bytes);
      const timed = own.filter(({ seconds }) => seconds > 0);
      const seconds = sumOf(timed, (one) => one.seconds);
      return {
        name,
        fetches: own.filter((one) => one.bytes > 0).length,
        bytes,
        share: all === 0 ? null : bytes / all,
        bytesPerSecond: seconds === 0 ? null : sumOf(timed, (one) => one.bytes) / seconds,
        setbacks: sumOf(own, (one) => one.setbacks),
        wanted: [...new Set(own.flatMap((one) => one.wanted ?? []))].join('; ') || null,
      };
    })
    .sort((a, b) => b.bytes - a.bytes || a.name.localeCompare(b.name));
}

const sumOf = (shares: readonly CacheShare[], value: (share: CacheShare) => number): number =>
  shares.reduce((sum, share) => sum + value(share), 0);
