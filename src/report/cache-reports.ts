import type { CacheShare, JobHistory } from '../history/history.ts';

/** What a cache or an origin gave to a run. */
export interface CacheReport {
  name: string;
  /** Fetches it gave something to. */
  fetches: number;
  bytes: number;
  /** Of all that came. */
  share: number | null;
  /** Its bytes over the time of the finished fetches it took part in. */
  bytesPerSecond: number | null;
  /** How often it was given up. */
  setbacks: number;
}

/** What each cache gave, the ones that gave most first; empty where nobody tells. */
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
      };
    })
    .sort((a, b) => b.bytes - a.bytes || a.name.localeCompare(b.name));
}

const sumOf = (shares: readonly CacheShare[], value: (share: CacheShare) => number): number =>
  shares.reduce((sum, share) => sum + value(share), 0);
