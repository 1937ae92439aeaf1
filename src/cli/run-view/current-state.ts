import path from 'node:path';
import { counted, firstFew, printable, shellQuote, wrap } from '@updraft/base';
import { asFault, type Fault } from '@updraft/account/fault';
import { describeDamage, refusedOfRun, type RunState } from '@updraft/account/journal';
import { deleteSecrets } from '../../pool/stored-secrets.ts';
import { openPool, poolKind } from '../../pool/open-pool.ts';
import type { Pool } from '../../pool/pool.ts';
import { nextBatch, trialsAtRung } from '@updraft/account/recovery';
import { sweepDrafts } from '../../run/create-run.ts';
import { readRunState } from '../../run/run-states.ts';
import type { Cli } from '../cli.ts';
import { textWidth } from '../text/phrases.ts';

/** The state of a run from its folder, after its pool has added what only the scheduler knows. */
export async function currentState(cli: Cli, folder: string): Promise<RunState> {
  const state = await readRunState(folder);
  await sweepDrafts(path.dirname(folder), cli.pid);
  await removeUnneededSecrets(cli, folder, state);
  const pool = openPool(state.pool, cli);
  if (state.endedAt !== undefined || pool.refresh === undefined) return state;
  await pool.refresh(folder).catch((error: unknown) => reportSilence(cli, pool, asFault(error)));
  return await readRunState(folder);
}

/** A held job may still be released, and its training would need them. */
export async function removeUnneededSecrets(
  { env }: Cli,
  folder: string,
  { endedAt, jobs }: RunState,
): Promise<void> {
  if (endedAt !== undefined && jobs.every(({ held }) => held === undefined))
    await deleteSecrets(path.basename(folder), env);
}

const pollMs = 5000;

/** Runs `action` while polling the run's pool for what only the scheduler knows. */
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

/** Without the scheduler's answer the folder still has most of the state. */
const reportSilence = (cli: Cli, { traits }: Pool, { message }: Fault): void =>
  cli.err(`updraft: ${traits.title} does not answer now: ${message}\n`);

/** Prints on stderr when the state of a run may be incomplete, and why. */
export function printTrouble(cli: Cli, state: RunState): void {
  const { trouble } = state;
  for (const sentence of [describeDamage(state) ?? [], refusedOfRun(state.jobs)].flat())
    cli.err(`${wrap(printable(sentence), textWidth(cli)).join('\n')}\n`);
  if (trouble === undefined) return;
  cli.err(`updraft: ${trouble.message}\n`);
  cli.err(`  fix: ${trouble.fix}\n`);
}

/** Prints on stderr for whom an unfinished local run waits, or that it has no supervisor, and how to resume it. */
export async function printUnsupervised(cli: Cli, folder: string, state: RunState): Promise<void> {
  if (state.endedAt !== undefined) return;
  const supervisor = await poolKind(state.pool)?.supervisor?.(folder);
  if (supervisor === undefined) {
    printCanary(cli, folder, state);
    return;
  }
  if (supervisor.state === 'running') await printHolders(cli, folder, state);
  if (supervisor.state === 'running' || supervisor.state === 'elsewhere') return;
  const who = supervisor.state === 'died' ? ` (process ${supervisor.pid} on ${supervisor.host} is gone)` : '';
  cli.err(`updraft: the run has no supervisor${who}\n`);
  cli.err(`  fix: updraft submit ${shellQuote(path.relative(cli.cwd, folder) || '.')}\n`);
}

/** Jobs of a local run wait for those of other runs of this user, too. */
async function printHolders(cli: Cli, folder: string, { pool, tally }: RunState): Promise<void> {
  const held = tally.waiting > 0 ? ((await poolKind(pool)?.heldByRuns?.(cli.env)) ?? []) : [];
  const others = held.filter(({ run }) => run !== path.basename(folder));
  if (others.length === 0) return;
  const runs = firstFew([...new Set(others.map(({ run }) => printable(run)))], 4);
  const cpus = others.reduce((sum, one) => sum + one.cpus, 0);
  cli.err(`waiting for this machine: other runs have ${counted(cpus, 'CPU')} of it (${runs})\n`);
}

/** On a scheduler no supervisor stays behind to queue the next batch. */
function printCanary(cli: Cli, folder: string, state: RunState): void {
  const ahead = nextBatch(state).length;
  if (ahead === 0 && trialsAtRung(state.jobs).length === 0) return;
  const why =
    ahead > 0
      ? `all canary jobs have a valid result; the next ${ahead} wait`
      : 'all trials of the round have ended; those that go on wait';
  cli.err(`updraft: ${why} to be submitted\n`);
  cli.err(`  fix: updraft submit ${shellQuote(path.relative(cli.cwd, folder) || '.')}\n`);
}
