import type { Attempt } from '../attempt.ts';

/** Long enough for whoever rehearses to see it and to act; after that the attempt goes on. */
const longestMs = 60_000;

/**
 * In a rehearsal the first attempt waits at the end of its transfer for the eviction that it is there for: a short
 * transfer could not be met otherwise. What it has fetched lies in its scratch folder by then.
 */
export async function holdTransfer({ order, world }: Pick<Attempt, 'order' | 'world'>): Promise<void> {
  if (order.isRehearsal !== true || order.attempt > 1 || order.data.length === 0) return;
  await world.clock.sleep(longestMs, world.signal);
}
