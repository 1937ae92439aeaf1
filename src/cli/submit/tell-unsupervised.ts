import path from 'node:path';
import { shellQuote } from '../../base/shell-quote.ts';
import type { RunState } from '../../journal/state.ts';
import { nextRung } from '../../recovery/next-rung.ts';
import { poolKind } from '../../pool/open-pool.ts';
import type { Cli } from '../cli.ts';

/** Says on stderr when nobody brings an unfinished run of this machine to its end, and how to go on with it. */
export async function tellUnsupervised(cli: Cli, folder: string, state: RunState): Promise<void> {
  if (state.endedAt !== undefined) return;
  const supervisor = await poolKind(state.pool)?.supervisor?.(folder);
  if (supervisor === undefined) {
    tellRung(cli, folder, state);
    return;
  }
  if (supervisor.state === 'running' || supervisor.state === 'elsewhere') return;
  const who = supervisor.state === 'died' ? ` (process ${supervisor.pid} on ${supervisor.host} is gone)` : '';
  cli.err(`updraft: nobody works on it any more${who}\n`);
  cli.err(`  fix: updraft submit ${shellQuote(path.relative(cli.cwd, folder) || '.')}\n`);
}

/** Where a scheduler has the jobs, nothing of ours stays behind to queue the next ones. */
function tellRung(cli: Cli, folder: string, state: RunState): void {
  const ahead = nextRung(state).length;
  if (ahead === 0) return;
  cli.err(`updraft: all jobs that went ahead have a valid result; the next ${ahead} wait for you\n`);
  cli.err(`  fix: updraft submit ${shellQuote(path.relative(cli.cwd, folder) || '.')}\n`);
}
