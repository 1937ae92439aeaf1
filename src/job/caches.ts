/** Which caches a job file wants tried first, and which not at all. */
export interface CachePreferences {
  caches?: string[];
  avoidCaches?: string[];
}

/** What a job file says of the caches of one object. */
export interface ObjectCaches extends CachePreferences {
  /** They were named for this object, not for all of the run. */
  isForObject: boolean;
}

/** An object's own caches go before those of the run; avoided are both. */
export function cachesOf(run: CachePreferences, source: CachePreferences = {}): ObjectCaches {
  const caches = source.caches ?? run.caches ?? [];
  const avoidCaches = [...(source.avoidCaches ?? []), ...(run.avoidCaches ?? [])];
  return { caches, avoidCaches, isForObject: source.caches !== undefined };
}
