import { asFault, type Fault } from '../../fault/fault.ts';
import type { RunState } from '../../journal/state.ts';
import { openPool } from '../../pool/open-pool.ts';
import { readRunState } from '../../run/run-states.ts';
import type { Cli } from '../cli.ts';

/** The state of a run as its folder tells it, once its pool has added what only the scheduler knows. */
export async function currentState(cli: Cli, folder: string): Promise<RunState> {
  const state = await readRunState(folder);
  if (state.endedAt !== undefined || state.pool !== 'slurm') return state;
  await openPool(state.pool, cli)
    .look(folder)
    .catch((error: unknown) => tellSilence(cli, asFault(error)));
  return await readRunState(folder);
}

const lookEveryMs = 5000;

/** Runs `action` while the run's pool is asked, now and then, for what only the scheduler knows. */
export async function whileLooking<T>(cli: Cli, folder: string, action: () => Promise<T>): Promise<T> {
  const { pool: name } = await readRunState(folder);
  if (name !== 'slurm') return await action();
  const pool = openPool(name, cli);
  const over = new AbortController();
  let silence: Fault | undefined;
  const looking = (async () => {
    while (!over.signal.aborted) {
      silence = await pool.look(folder).then(() => undefined, asFault);
      await cli.clock.sleep(lookEveryMs, over.signal).catch(() => undefined);
    }
  })();
  try {
    return await action();
  } finally {
    over.abort();
    await looking;
    if (silence !== undefined) tellSilence(cli, silence);
  }
}

/** A scheduler that does not answer leaves what the folder tells, which is most of it. */
const tellSilence = (cli: Cli, { message }: Fault): void =>
  cli.err(`updraft: Slurm cannot be asked now: ${message}\n`);
