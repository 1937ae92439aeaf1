import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { jobFileWord } from '../job-file-argument.ts';
import { submitOptions } from '../submit/options.ts';
import { type SubmitOptions, submitPlan, tellSubmitted } from '../submit/submit-plan.ts';

interface Options extends SubmitOptions {
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  submitOptions(command)
    .option('--json', 'print the run as JSON')
    .addHelpText('after', example)
    .action(async (where: string, options: Options) => {
      const submitted = await submitPlan(cli, where, options);
      await tellSubmitted(cli, submitted, jobFileWord(where, options), options.json ?? false);
    });
}

const example = `
The jobs run on without this command, and after you log out. The same command again goes on with an unfinished run;
a changed job file, or --new, starts another one.

--canary 1,10 queues one job, ten more when that one has a valid result, and then the rest. A rung with a failure is the
last: the rest is never queued. On the local pool the run climbs by itself; on HTCondor, where nothing of ours may stay
behind, the same command again queues the next rung, and \`updraft run\` does so while it watches.

Examples:
  $ updraft submit examples/cifar10
  $ updraft submit --canary 1,10 examples/cifar10
  $ updraft submit runs/cifar10-20261115T023821_ab38   go on with this very run

HTCondor's scheduler is given a minute to answer, or UPDRAFT_POOL_SECONDS. One that answers late is no harm: the same
command again finds what became of the submission and submits no job twice.

Exit codes: 0 queued, 2 wrong usage, 3 something wrong in the job file, 4 the pool cannot take it.`;
