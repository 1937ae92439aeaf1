import path from 'node:path';
import { isThere } from '@updraft/base';
import { runFiles } from '../job/layout.ts';
import type { Pool } from '../pool/pool.ts';
import { nextBatch } from '../recovery/next-batch.ts';
import { readRunState } from './run-states.ts';
import { type RoundContext, startRound, withRounds } from './rounds.ts';

/**
 * Queues the next canary batch of a run when all jobs before it have a valid result, and returns its jobs. In a run
 * with a supervisor, the supervisor does so.
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
    const why = 'all earlier jobs have a valid result';
    await startRound(runFolder, state, pool, { jobs, why }, context.clock);
    return jobs;
  });
}

const pollMs = 2_000;

/**
 * Submits the run again whenever its supervisor has died, and queues the next canary batch whenever one has succeeded.
 * Ends when the signal aborts.
 */
export async function keepGoing(
  runFolder: string,
  pool: Pool,
  context: RoundContext,
  signal: AbortSignal,
): Promise<void> {
  const { canary } = await readRunState(runFolder);
  while (!signal.aborted) {
    const isDead = (await pool.supervisor?.(runFolder))?.state === 'died';
    // One that is being removed must not come back.
    if (isDead && (await isThere(path.join(runFolder, runFiles.journal)))) await pool.submit(runFolder);
    if (canary !== undefined) await startNextBatch(runFolder, pool, context);
    await context.clock.sleep(pollMs, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}
