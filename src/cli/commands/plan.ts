import type { Command } from 'commander';
import { loadPlan } from '../../job/load-plan.ts';
import type { Cli } from '../cli.ts';
import { jobFileArgument, jobFileWord } from '../job-file-argument.ts';
import { planText } from '../plan-text.ts';
import { nextCommands } from '../next-commands.ts';

export function configure(command: Command, cli: Cli): void {
  command
    .argument(...jobFileArgument)
    .option('--json', 'print the whole plan as JSON, every job included')
    .addHelpText(
      'after',
      `
Shows what would be sent and run, and why: jobs, files, data and how it moves, disk, the rule of success.
Nothing is sent and nothing is written.

Examples:
  updraft plan
  updraft plan experiments/resnet --json

Exit codes: 0 planned, 3 the job file or something it names is wrong.`,
    )
    .action(async (where: string, options: { json?: true }) => {
      const plan = await loadPlan(where, { cwd: cli.cwd, home: cli.env['HOME'] });
      if (options.json) {
        cli.out(`${JSON.stringify(plan, null, 2)}\n`);
        return;
      }
      cli.out(planText(plan));
      nextCommands(cli, [
        [`updraft run${jobFileWord(where)}`, 'submit it and watch'],
        [`updraft submit${jobFileWord(where)}`, 'submit it and come back later'],
        [`updraft plan${jobFileWord(where)} --json`, 'the same with every job, for programs'],
      ]);
    });
}
