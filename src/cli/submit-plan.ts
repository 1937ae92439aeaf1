import path from 'node:path';
import { shellQuote } from '../base/shell-quote.ts';
import { loadPlan } from '../job/load-plan.ts';
import { openPool } from '../pool/open-pool.ts';
import type { Pool } from '../pool/pool.ts';
import { submitRun, type Submitted } from '../run/submit-run.ts';
import type { Cli } from './cli.ts';

/** A run that was submitted, and how a command line names it. */
export interface SubmittedRun extends Submitted {
  /** Quoted for a shell. */
  argument: string;
  pool: Pool;
}

/** Loads the job file, hands it to its pool, and says on stderr what was done and why. */
export async function submitPlan(cli: Cli, where: string, isNew: boolean): Promise<SubmittedRun> {
  const home = cli.env['HOME'];
  const plan = await loadPlan(where, { cwd: cli.cwd, ...(home === undefined ? {} : { home }) });
  const pool = openPool(plan.spec.run.pool, cli);
  const submitted = await submitRun(plan, pool, { isNew, version: cli.version, clock: cli.clock });
  cli.err(`${told[submitted.how]} ${path.basename(submitted.folder)}: ${submitted.why}\n`);
  return { ...submitted, argument: argumentFor(cli.cwd, submitted.folder), pool };
}

const told = { created: 'started', continued: 'going on with', finished: 'already finished:' } as const;

/** A run's name is enough where `runs/` is found from here; elsewhere its path is needed. */
function argumentFor(cwd: string, folder: string): string {
  const home = path.dirname(path.dirname(folder));
  const isAbove = `${cwd}/`.startsWith(home.endsWith('/') ? home : `${home}/`);
  return shellQuote(isAbove ? path.basename(folder) : path.relative(cwd, folder));
}
