import type { Clock } from '../base/clock.ts';
import { supervisorState } from '../pool/local/supervisor-state.ts';
import type { Pool } from '../pool/pool.ts';

const lookEveryMs = 2_000;

/** Hands the run to its pool again whenever the process that supervised it has died. Ends when the signal aborts. */
export async function keepGoing(
  runFolder: string,
  pool: Pool,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    if ((await supervisorState(runFolder)).state === 'died') await pool.submit(runFolder);
    await clock.sleep(lookEveryMs, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}
