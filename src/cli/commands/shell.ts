import type { Command } from 'commander';
import { Fault } from '../../fault/fault.ts';
import { loadPlan } from '../../job/load-plan.ts';
import { openPool } from '../../pool/open-pool.ts';
import type { Cli } from '../cli.ts';
import { jobFileOptions, type JobFileOptions, loadOptions } from '../job-file-argument.ts';

export function configure(command: Command, cli: Cli): void {
  jobFileOptions(command)
    .addHelpText(
      'after',
      `
Waits for a machine of the pool as one job of the run would get it (its CPUs, memory, GPUs and image), sends the files of
[train] there and gives you a shell on it: to try the training by hand before a hundred jobs do. Data is not fetched.
Software that comes as an archive of pixi-pack is unpacked and activated by what you type there first: . ./software.sh
Leaving the shell ends the job. For pool = "condor".

Example:
  $ updraft shell examples/cifar10

Exit codes: 0 the shell was left, 2 the pool knows no interactive jobs, 3 something wrong in the job file, 4 no machine.`,
    )
    .action(async (where: string, options: JobFileOptions) => {
      const plan = await loadPlan(where, loadOptions(cli, options));
      const pool = openPool(plan.spec.run.pool, cli);
      if (pool.shell === undefined)
        throw new Fault('usage', `the pool "${plan.spec.run.pool}" has no interactive jobs`, {
          fix: 'set pool = "condor" in [run]',
        });
      await pool.shell(plan, (line) => cli.err(`${line}\n`));
    });
}
