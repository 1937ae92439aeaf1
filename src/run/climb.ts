import type { Pool } from '../pool/pool.ts';
import { nextRung } from '../recovery/next-rung.ts';
import { readRunState } from './run-states.ts';
import { startRound } from './start-round.ts';
import { withRounds, type RoundsWorld } from './with-rounds.ts';

/**
 * Queues the next rung of a run's canary ladder when all jobs that went ahead have a valid result. Gives the jobs
 * that go ahead now. On the local pool the run's supervisor does so by itself.
 */
export async function climb(runFolder: string, pool: Pool, world: RoundsWorld): Promise<string[]> {
  const seen = await readRunState(runFolder);
  if (seen.pool === 'local' || nextRung(seen).length === 0) return [];
  return await withRounds(runFolder, pool, world, async (state) => {
    const jobs = nextRung(state);
    if (jobs.length === 0) return [];
    const why = 'all jobs that went ahead have a valid result';
    await startRound(runFolder, state, pool, { jobs, why }, world.clock);
    return jobs;
  });
}
