import type { CacheShare, JobHistory } from '../history/history.ts';

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
