import type { Cause } from '../codes/causes.ts';
import type { CacheShare, JobHistory } from '../history/history.ts';
import { siteNames } from './sites.ts';

/** What a cache or origin delivered. */
interface Delivery {
  name: string;
  /** Fetches it delivered bytes to. */
  fetches: number;
  bytes: number;
  /** Its bytes over the time of the finished fetches it took part in. */
  bytesPerSecond: number | null;
  /** How often it was given up. */
  setbacks: number;
  /** Of the bytes with an `Age`, the share that it had to fetch itself; null for an origin. */
  coldShare: number | null;
}

/** What a cache or origin delivered to a run. */
export interface CacheReport extends Delivery {
  /** Of all bytes. */
  share: number | null;
  /** Who preferred or avoided it. */
  wanted: string | null;
  /** Why it was last given up. */
  lastSetback: Cause | null;
  /** While attempts fetch from it. */
  bytesPerSecondNow: number;
}

/** What a cache or origin delivered to the attempts at a site. */
export interface CacheSiteReport extends Delivery {
  site: string;
}

const none: readonly never[] = [];

/** The largest delivery first; empty if no journal has any. */
export function cacheReports(jobs: readonly JobHistory[]): CacheReport[] {
  const shares: CacheShare[] = [];
  for (const { attempts } of jobs) for (const { caches } of attempts) if (caches) shares.push(...caches);
  const all = sumOf(shares, ({ bytes }) => bytes);
  return [...Map.groupBy(shares, ({ name }) => name)]
    .map(([name, own]): CacheReport => {
      const delivery = deliveryOf(name, own);
      return {
        ...delivery,
        share: all === 0 ? null : delivery.bytes / all,
        wanted: [...new Set(own.flatMap((one) => one.wanted ?? []))].join('; ') || null,
        lastSetback: own.findLast(({ lastSetback }) => lastSetback)?.lastSetback ?? null,
        bytesPerSecondNow: sumOf(own, ({ rate = 0 }) => rate),
      };
    })
    .sort(byBytes);
}

/** Which cache served which site, the largest delivery first. */
export function cacheSiteReports(jobs: readonly JobHistory[]): CacheSiteReport[] {
  const siteOf = siteNames(jobs);
  const shares: { share: CacheShare; site: string }[] = [];
  for (const { attempts } of jobs)
    for (const attempt of attempts)
      for (const share of attempt.caches ?? none) shares.push({ share, site: siteOf(attempt) });
  return [...Map.groupBy(shares, ({ site }) => site)]
    .flatMap(([site, here]) =>
      [...Map.groupBy(here, ({ share }) => share.name)].map(([name, own]) => ({
        ...deliveryOf(
          name,
          own.map(({ share }) => share),
        ),
        site,
      })),
    )
    .filter(({ bytes, setbacks }) => bytes > 0 || setbacks > 0)
    .sort((a, b) => byBytes(a, b) || a.site.localeCompare(b.site));
}

function deliveryOf(name: string, own: readonly CacheShare[]): Delivery {
  const timed = own.filter(({ seconds }) => seconds > 0);
  const seconds = sumOf(timed, (one) => one.seconds);
  const cold = sumOf(own, ({ coldBytes = 0 }) => coldBytes);
  const known = cold + sumOf(own, ({ warmBytes = 0 }) => warmBytes);
  return {
    name,
    fetches: own.filter((one) => one.bytes > 0).length,
    bytes: sumOf(own, (one) => one.bytes),
    bytesPerSecond: seconds === 0 ? null : sumOf(timed, (one) => one.bytes) / seconds,
    setbacks: sumOf(own, (one) => one.setbacks),
    coldShare: known === 0 ? null : cold / known,
  };
}

const byBytes = (a: Delivery, b: Delivery): number => b.bytes - a.bytes || a.name.localeCompare(b.name);

const sumOf = (shares: readonly CacheShare[], value: (share: CacheShare) => number): number =>
  shares.reduce((sum, share) => sum + value(share), 0);
