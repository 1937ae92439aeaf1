import {
  byJobFile,
  createLocator,
  type FederationLocator,
  isSameHome,
  type Locator,
  preferCaches,
} from '@updraft/pelican/federation';
import { type Clock, defined } from '@updraft/base';
import type { Fault } from '@updraft/account/fault';
import { toFaultRecord } from '@updraft/account/journal';
import type { FetchEvent } from '@updraft/pelican/transfer';
import { releaseMemory } from '@updraft/base/processes';
import { cachesOf, type CachePreferences } from '../../job/caches.ts';
import type { WorkOrder } from '../../job/job.ts';
import type { Context } from '../attempt.ts';
import type { Recorder } from '../notes/journal-writer.ts';

/** Locates objects for a job, with what its user has confirmed. */
export const openLocator = (
  { env, clock, cwd, uid, version }: Pick<Context, 'env' | 'clock' | 'cwd' | 'uid' | 'version'>,
  order: WorkOrder | undefined,
): FederationLocator => createLocator({ env, clock, cwd, uid, version, confirmed: order?.confirmed });

/**
 * The locator for one object of a job: the job file's preferences of caches come before this machine's. A manifest may
 * be in another federation, where the caches of its object do not apply.
 */
export function locatorFor<L extends Locator>(
  locator: L,
  order: WorkOrder | undefined,
  source: CachePreferences & { url?: string } = {},
  url = source.url,
): L {
  if (order === undefined) return locator;
  const { avoidCaches = [] } = source;
  const own = url === source.url || isSameHome(url ?? '', source.url ?? '') ? source : { avoidCaches };
  return preferCaches(locator, cachesOf(order, own), byJobFile);
}

const progressMs = 1000;

/** Records what happens while the agent or the plugin fetches one object. */
export function recordEvents(object: string, record: Recorder, clock: Clock): (event: FetchEvent) => void {
  let reportedAt = -Infinity;
  let noted: Fault | undefined;
  return (event) => {
    // A wait for a server follows its setback; a wait for a director is news.
    if (event.kind === 'wait' && event.fault === noted) return;
    if (event.kind !== 'progress') {
      noted = event.fault;
      record({ kind: 'fetch-setback', object, server: event.server, fault: toFaultRecord(event.fault) });
      return;
    }
    const now = clock.monotonic();
    if (now - reportedAt < progressMs) return;
    reportedAt = now;
    // What was unpacked is garbage by now, and there is a lot of it. Not more often: each time costs some milliseconds.
    releaseMemory();
    const { bytes, total, rate, server } = event;
    record({ kind: 'fetch-progress', object, bytes, rate, server, ...defined({ total }) });
  };
}

const counts = ['bytes', 'seconds', 'warmBytes', 'coldBytes'] as const;
type Delivery = { server: string; bytes: number } & Partial<Record<(typeof counts)[number], number>>;

/** What each server delivered in several fetches. */
export function byServer<Part extends Delivery>(parts: Part[]): Part[] {
  const sums = new Map<string, Part>();
  for (const part of parts) {
    const sum = { ...part, ...sums.get(part.server) };
    if (sums.has(part.server))
      for (const count of counts)
        if (count in sum)
          Object.assign(sum, { [count]: (sums.get(part.server)?.[count] ?? 0) + (part[count] ?? 0) });
    sums.set(part.server, sum);
  }
  return [...sums.values()];
}
