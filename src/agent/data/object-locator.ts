import {
  byJobFile,
  createLocator,
  type FederationLocator,
  isSameHome,
  type Locator,
  preferCaches,
} from '@updraft/pelican/federation';
import { cachesOf, type CachePreferences } from '../../job/caches.ts';
import type { WorkOrder } from '../../job/job.ts';
import type { Context } from '../attempt.ts';

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
