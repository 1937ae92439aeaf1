import type { Pool } from '../pool/pool.ts';
import { nextBatch } from '../recovery/next-batch.ts';
import { readRunState } from './run-states.ts';
import { type RoundContext, startRound, withRounds } from './rounds.ts';

/**
 * Queues the next rung of a run's canary ladder when all jobs that went ahead have a valid result. Gives the jobs
 * that go ahead now. Where the run has a supervisor, that does so by itself.
 */
export async function startNextBatch(
  runFolder: string,
  pool: Pool,
  context: RoundContext,
): Promise<string[]> {
  if (pool.traits.supervises || nextBatch(await readRunState(runFolder)).length === 0) return [];
  return await withRounds(runFolder, pool, context, async (state) => {
    const jobs = nextBatch(state);
    if (jobs.length === 0) return [];
    const why = 'all jobs that went ahead have a valid result';
    await startRound(runFolder, state, pool, { jobs, why }, context.clock);
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
  context: RoundContext,
  signal: AbortSignal,
): Promise<void> {
  const { canary } = await readRunState(runFolder);
  while (!signal.aborted) {
    if ((await pool.supervisor?.(runFolder))?.state === 'died') await pool.submit(runFolder);
    if (canary !== undefined) await startNextBatch(runFolder, pool, context);
    await context.clock.sleep(pollMs, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}
