import type { Command } from 'commander';
import { Fault } from '../../fault/fault.ts';
import { loadJobFile } from '../../job/load-plan.ts';
import { checkPlan, type Checked, type CheckOptions } from '../check/check-plan.ts';
import { countFindings, findingLines, lookedLines } from '../check/check-text.ts';
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

interface Options extends JobFileOptions, CheckOptions {
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  jobFileOptions(command.argument(...jobFileArgument))
    .option('--quick', 'only the files and the servers of the data, as submit does')
    .option('--image <file>', 'a local copy of the image, to look inside')
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', help)
    .action((where: string, options: Options) => check(cli, where, options));
}

const help = `
Sends nothing and queues nothing. Reads the job file and all it names, asks every cache and the origin about the data,
the pool about its machines, and looks into the image for what the code uses. What cannot be checked is said.
docs/check.md lists the rules.

Examples:
  updraft check
  updraft check experiments/resnet/updraft.toml
  updraft check --json | jq '.findings[].rule'

Exit codes: 0 no errors, 3 errors were found.`;

async function check(cli: Cli, where: string, options: Options): Promise<void> {
  const job = await loadJobFile(where, { cwd: cli.cwd, home: cli.env['HOME'], ...layersOf(options) });
  const checked = await checkPlan(cli, job, options);
  const errors = checked.findings.filter(({ level }) => level === 'error').length;
  if (options.json) cli.out(`${JSON.stringify(answer(checked, errors === 0))}\n`);
  else cli.out(text(checked));
  if (errors > 0) throw errorsFound(checked.plan.file, errors, `updraft check${jobFileWord(where)}`);
  if (options.json) return;
  nextCommands(cli, [
    [`updraft plan${jobFileWord(where)}`, 'what would be sent and run, and why'],
    [`updraft run${jobFileWord(where)}`, 'submit it and watch'],
  ]);
}

function text(checked: Checked): string {
  const { plan, findings } = checked;
  const sent = `${counted(plan.files.length, 'file')} (${sentBytes(plan)}), ${counted(plan.data.length, 'data set')}`;
  const found = countFindings(findings);
  const rest = lookedLines(checked);
  return [
    `${found === '' ? 'ok: ' : ''}${headline(plan)}; ${found === '' ? sent : found}`,
    ...(findings.length + rest.length === 0 ? [] : ['']),
    ...findingLines(findings),
    ...rest,
    '',
  ].join('\n');
}

function answer({ plan, findings, looked, unchecked }: Checked, ok: boolean): Record<string, unknown> {
  return {
    ok,
    file: plan.file,
    name: plan.spec.name,
    pool: plan.spec.run.pool,
    jobs: plan.jobs.length,
    files: plan.files.length,
    data: plan.data.length,
    planHash: plan.planHash,
    ...{ findings, looked, unchecked },
  };
}

export const errorsFound = (file: string, errors: number, again: string): Fault =>
  new Fault('file-invalid', `${file}: ${counted(errors, 'error')}`, {
    fix: `correct ${errors === 1 ? 'it' : 'them'}, then run: ${again}`,
    about: file,
  });
