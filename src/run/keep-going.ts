import type { Pool } from '../pool/pool.ts';
import { nextRung } from '../recovery/next-rung.ts';
import { readRunState } from './run-states.ts';
import { type RoundsWorld, startRound, withRounds } from './rounds.ts';

/**
 * Queues the next rung of a run's canary ladder when all jobs that went ahead have a valid result. Gives the jobs
 * that go ahead now. Where the run has a supervisor, that does so by itself.
 */
export async function climb(runFolder: string, pool: Pool, world: RoundsWorld): Promise<string[]> {
  if (pool.traits.supervises || nextRung(await readRunState(runFolder)).length === 0) return [];
  return await withRounds(runFolder, pool, world, async (state) => {
    const jobs = nextRung(state);
    if (jobs.length === 0) return [];
    const why = 'all jobs that went ahead have a valid result';
    await startRound(runFolder, state, pool, { jobs, why }, world.clock);
    return jobs;
  });
}

const pollMs = 2_000;

/**
 * Hands the run to its pool again whenever the process that supervised it has died, and queues the next rung of its
 * canary ladder whenever one is proven. Ends when the signal aborts.
 */
export async function keepGoing(
  runFolder: string,
  pool: Pool,
  world: RoundsWorld,
  signal: AbortSignal,
): Promise<void> {
  const { canary } = await readRunState(runFolder);
  while (!signal.aborted) {
    if ((await pool.supervisor?.(runFolder))?.state === 'died') await pool.submit(runFolder);
    if (canary !== undefined) await climb(runFolder, pool, world);
    await world.clock.sleep(pollMs, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}
