import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { jobFileArgument } from '../job-file-argument.ts';
import { submitOptions } from '../submit/options.ts';
import { type SubmitCliOptions, submitPlan, printSubmitted } from '../submit/submit-plan.ts';

export function configure(command: Command, cli: Cli): void {
  submitOptions(command)
    .option('--json', 'print JSON')
    .action(async (where: string, options: SubmitCliOptions & { json?: true }) => {
      const submitted = await submitPlan(cli, where, options);
      await printSubmitted(cli, submitted, jobFileArgument(where, options), options.json ?? false);
    });
}
