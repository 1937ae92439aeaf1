import path from 'node:path';
import type { Command } from 'commander';
import { counted, shellQuote } from '@updraft/base';
import { Fault } from '../../fault/fault.ts';
import { statIfExists } from '../../job/list-files.ts';
import { loadJobFile } from '../../job/load-plan.ts';
import { tokenless } from '../check/ask-objects.ts';
import { type Checked, type CheckOptions, checkPlan } from '../check/check-plan.ts';
import { checkText, countFindings } from '../check/check-text.ts';
import type { Cli } from '../cli.ts';
import { jobFileOptions, type JobFileOptions, jobFileArgument, loadOptions } from '../job-file-argument.ts';
import { openFederation } from '../object/access.ts';
import { offerLogins } from '../object/offer-login.ts';
import { PrintedFault } from '../print-fault.ts';
import { headline, sentBytes } from '../submit/plan-text.ts';
import { nextCommands, textWidth } from '../text/phrases.ts';

interface Options extends JobFileOptions, CheckOptions {
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  jobFileOptions(command)
    .option('--quick', 'check only files and data servers, as submit does')
    .option('--image <file>', 'look into this local copy of the image')
    .option('--json', 'print JSON')
    .action((where: string, options: Options) => check(cli, where, options));
}

async function check(cli: Cli, where: string, options: Options): Promise<void> {
  const file = path.resolve(cli.cwd, where);
  if (await isSubmitFile(file)) {
    await checkFile(cli, where, file, options);
    return;
  }
  const load = (): ReturnType<typeof loadJobFile> => loadJobFile(where, loadOptions(cli, options));
  const found = await load();
  const federation = openFederation(cli);
  const isMade =
    !options.json && (await offerLogins(cli, federation, tokenless(found.plan), { verb: 'GET' }));
  const job = isMade ? await load() : found;
  const checked = await checkPlan(cli, job, options);
  const errors = checked.findings.filter(({ level }) => level === 'error').length;
  if (options.json) cli.out(`${JSON.stringify(toJson(checked, errors === 0))}\n`);
  else cli.out(checkText(titleOf(checked), checked, textWidth(cli)));
  if (errors > 0)
    throw errorsFound(checked.plan.file, errors, `updraft check${jobFileArgument(where, options)}`, options);
  if (options.json) return;
  nextCommands(cli, [
    [`updraft plan${jobFileArgument(where, options)}`, 'what would be sent and run, and why'],
    [`updraft run${jobFileArgument(where, options)}`, 'submit it and watch'],
  ]);
}

/** Neither a folder nor named like a job file: a submit file may have any name. */
async function isSubmitFile(file: string): Promise<boolean> {
  const found = await statIfExists(file);
  return found?.isDirectory() === false && !/\.(toml|ya?ml)$/i.test(file);
}

async function checkFile(cli: Cli, where: string, file: string, options: Options): Promise<void> {
  const { checkSubmitFile } = await import('../check/check-submit-file.ts');
  const checked = await checkSubmitFile(cli, file, options.image);
  const { findings, jobs } = checked;
  const errors = findings.filter(({ level }) => level === 'error').length;
  const found = countFindings(findings);
  const title = `${where}: ${jobs === undefined ? 'jobs' : counted(jobs, 'job')} for HTCondor`;
  if (options.json) cli.out(`${JSON.stringify({ ok: errors === 0, ...checked })}\n`);
  else cli.out(checkText(found === '' ? `ok: ${title}` : `${title}; ${found}`, checked, textWidth(cli)));
  if (errors > 0) throw errorsFound(file, errors, `updraft check ${shellQuote(where)}`, options);
  if (!options.json)
    nextCommands(cli, [
      [`updraft adopt ${shellQuote(where)} --submit`, 'submit it unchanged, with a run folder'],
    ]);
}

function titleOf({ plan, findings, unchecked }: Checked): string {
  const sent = `${counted(plan.files.length, 'file')} (${sentBytes(plan)}), ${counted(plan.data.length, 'data set')}`;
  const found = countFindings(findings);
  if (found !== '') return `${headline(plan)}; ${found}`;
  return `${unchecked.length === 0 ? 'ok' : 'nothing wrong so far'}: ${headline(plan)}; ${sent}`;
}

function toJson({ plan, findings, looked, unchecked }: Checked, ok: boolean): Record<string, unknown> {
  return {
    ok,
    file: plan.file,
    name: plan.spec.name,
    pool: plan.spec.run.pool,
    jobs: plan.jobs.length,
    files: plan.files.length,
    data: plan.data.length,
    planHash: plan.planHash,
    findings,
    looked,
    unchecked,
  };
}

/** With `--json` the findings are already printed. */
function errorsFound(file: string, errors: number, again: string, { json }: Options): Fault {
  const fault = new Fault('file-invalid', `${file}: ${counted(errors, 'error')}`, {
    fix: `apply the ${errors === 1 ? 'fix' : 'fixes'} above, then run: ${again}`,
    about: file,
  });
  return json ? new PrintedFault(fault) : fault;
}
