import type { Command } from 'commander';
import { loadPlan } from '../../job/load-plan.ts';
import type { Plan } from '../../job/plan.ts';
import { Fault } from '../../fault/fault.ts';
import { openPool } from '../../pool/open-pool.ts';
import type { Cli } from '../cli.ts';
import {
  jobFileArgument,
  jobFileOptions,
  jobFileWord,
  layersOf,
  type JobFileOptions,
} from '../job-file-argument.ts';
import { counted, headline, sentBytes } from '../plan-text.ts';
import { nextCommands } from '../next-commands.ts';

export function configure(command: Command, cli: Cli): void {
  jobFileOptions(command.argument(...jobFileArgument))
    .option('--json', 'print the answer as JSON')
    .addHelpText(
      'after',
      `
Reads the job file and everything it names, sends nothing, and lists every problem with file, line and column.

Examples:
  updraft check
  updraft check experiments/resnet/updraft.toml

Exit codes: 0 the file is good, 3 it is not.`,
    )
    .action(async (where: string, options: JobFileOptions & { json?: true }) => {
      const plan = await loadPlan(where, { cwd: cli.cwd, home: cli.env['HOME'], ...layersOf(options) });
      const findings = await openPool(plan.spec.run.pool, cli).check(plan);
      const errors = findings.filter(({ level }) => level === 'error');
      if (options.json) {
        cli.out(`${JSON.stringify({ ...summary(plan), ok: errors.length === 0, findings })}\n`);
      } else {
        for (const { level, message, fix } of findings) cli.err(`${level}: ${message}\n  fix: ${fix}\n`);
      }
      if (errors.length > 0)
        throw new Fault(
          'file-invalid',
          `${plan.file}: ${counted(errors.length, 'rule')} of the pool broken`,
          {
            fix: errors[0]?.fix ?? '',
            about: plan.file,
          },
        );
      if (options.json) return;
      const { files, data } = plan;
      cli.out(
        `ok: ${headline(plan)}; ${counted(files.length, 'file')} (${sentBytes(plan)}), ${counted(data.length, 'data set')}\n`,
      );
      nextCommands(cli, [
        [`updraft plan${jobFileWord(where)}`, 'what would be sent and run, and why'],
        [`updraft run${jobFileWord(where)}`, 'submit it and watch'],
      ]);
    });
}

function summary(plan: Plan): Record<string, unknown> {
  return {
    ok: true,
    file: plan.file,
    name: plan.spec.name,
    pool: plan.spec.run.pool,
    jobs: plan.jobs.length,
    files: plan.files.length,
    data: plan.data.length,
    planHash: plan.planHash,
  };
}
