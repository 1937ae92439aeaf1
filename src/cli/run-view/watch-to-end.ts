import path from 'node:path';
import { Fault } from '../../fault/fault.ts';
import type { RunState } from '../../journal/state.ts';
import { keepGoing } from '../../run/keep-going.ts';
import type { Cli } from '../cli.ts';
import type { SubmittedRun } from '../submit/submit-plan.ts';
import { watchRun } from './watch-run.ts';

/** Watches until the end and sees to it that somebody works on it; leaving is the user's right and no failure of the run. */
export async function watchToEnd(
  cli: Cli,
  { folder, argument, pool }: SubmittedRun,
  json = false,
): Promise<RunState> {
  const over = new AbortController();
  const signal = AbortSignal.any([cli.signal, over.signal]);
  const keeping = keepGoing(folder, pool, cli, signal).catch((error: unknown) => over.abort(error));
  try {
    const state = await watchRun({ ...cli, signal }, folder, { json });
    if (state.endedAt !== undefined) return state;
  } catch (thrown) {
    if (!cli.signal.aborted) throw thrown;
  } finally {
    over.abort();
    await keeping;
  }
  throw new Fault('interrupted', `left ${path.basename(folder)}: it goes on by itself`, {
    fix: `\`updraft watch ${argument}\` comes back to it, \`updraft stop ${argument}\` ends it`,
  });
}
