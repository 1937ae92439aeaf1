import { asFault, type Fault } from '../../fault/fault.ts';
import type { RunState } from '../../journal/state.ts';
import { openPool } from '../../pool/open-pool.ts';
import type { Pool } from '../../pool/pool.ts';
import { readRunState } from '../../run/run-states.ts';
import type { Cli } from '../cli.ts';

/** The state of a run as its folder tells it, once its pool has added what only the scheduler knows. */
export async function currentState(cli: Cli, folder: string): Promise<RunState> {
  const state = await readRunState(folder);
  const pool = openPool(state.pool, cli);
  if (state.endedAt !== undefined || pool.refresh === undefined) return state;
  await pool.refresh(folder).catch((error: unknown) => reportSilence(cli, pool, asFault(error)));
  return await readRunState(folder);
}

const pollMs = 5000;

/** Runs `action` while the run's pool is asked, now and then, for what only the scheduler knows. */
export async function whileRefreshing<T>(cli: Cli, folder: string, action: () => Promise<T>): Promise<T> {
  const { pool: name } = await readRunState(folder);
  const pool = openPool(name, cli);
  if (pool.refresh === undefined) return await action();
  const over = new AbortController();
  let silence: Fault | undefined;
  const polling = (async () => {
    while (!over.signal.aborted) {
      silence = await pool.refresh?.(folder).then(() => undefined, asFault);
      await cli.clock.sleep(pollMs, over.signal).catch(() => undefined);
    }
  })();
  try {
    return await action();
  } finally {
    over.abort();
    await polling;
    if (silence !== undefined) reportSilence(cli, pool, silence);
  }
}

/** A scheduler that does not answer leaves what the folder tells, which is most of it. */
const reportSilence = (cli: Cli, { traits }: Pool, { message }: Fault): void =>
  cli.err(`updraft: ${traits.title} cannot be asked now: ${message}\n`);
