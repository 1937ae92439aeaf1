/** The caches a job file prefers, and those it avoids. */
export interface CachePreferences {
  caches?: string[];
  avoidCaches?: string[];
}

/** The preferences that apply to one object. */
export interface ObjectCaches extends CachePreferences {
  /** Whether `caches` was set for this object rather than for the run. */
  isForObject: boolean;
}

/** An object's `caches` replace those of the run; its `avoidCaches` add to them. */
export function cachesOf(run: CachePreferences, source: CachePreferences = {}): ObjectCaches {
  const caches = source.caches ?? run.caches ?? [];
  const avoidCaches = [...(source.avoidCaches ?? []), ...(run.avoidCaches ?? [])];
  return { caches, avoidCaches, isForObject: source.caches !== undefined };
}
