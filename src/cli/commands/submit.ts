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
    .option('--json', 'print JSON')
    .action(async (where: string, options: Options) => {
      const submitted = await submitPlan(cli, where, options);
      await tellSubmitted(cli, submitted, jobFileWord(where, options), options.json ?? false);
    });
}
