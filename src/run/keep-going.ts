import { supervisorState } from '../pool/local/supervisor-state.ts';
import type { Pool } from '../pool/pool.ts';
import { climb } from './climb.ts';
import { readRunState } from './run-states.ts';
import type { RoundsWorld } from './with-rounds.ts';

const lookEveryMs = 2_000;

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
    if ((await supervisorState(runFolder)).state === 'died') await pool.submit(runFolder);
    if (canary !== undefined) await climb(runFolder, pool, world);
    await world.clock.sleep(lookEveryMs, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}
