import type { Command } from 'commander';
import { usageFault } from '@updraft/account/fault';
import { loadPlan } from '../../job/load-plan.ts';
import { openPool } from '../../pool/open-pool.ts';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { jobFileOptions, type JobFileOptions, loadOptions } from '../job-file-argument.ts';

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'guides/interactive.md', [
    'updraft shell                         # with the files of the job file here',
    'updraft shell --set resources.gpus=1  # on a machine with a GPU',
  ]);
  jobFileOptions(command).action(async (where: string, options: JobFileOptions) => {
    const plan = await loadPlan(where, loadOptions(cli, options));
    const pool = openPool(plan.spec.run.pool, cli);
    if (pool.shell === undefined)
      throw usageFault(
        `the pool "${plan.spec.run.pool}" has no interactive jobs`,
        'set pool = "condor" in [run]',
      );
    await pool.shell(plan, (line) => cli.err(`${line}\n`));
  });
}
