import path from 'node:path';
import type { Command } from 'commander';
import { counted, shellQuote } from '@updraft/base';
import { statIfExists } from '../../job/list-files.ts';
import { loadJobFile } from '../../job/load-plan.ts';
import { tokenless } from '../../preflight/ask-objects.ts';
import { type Checked, type CheckOptions, checkPlan } from '../../preflight/check-plan.ts';
import type { CheckReport } from '../../preflight/gathered.ts';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import {
  jobFileAbove,
  jobFileArgument,
  jobFileOptions,
  type JobFileOptions,
  loadOptions,
} from '../job-file-argument.ts';
import { openFederation } from '../object/access.ts';
import { offerLogins } from '../object/offer-login.ts';
import { headline, sentBytes } from '../submit/plan-text.ts';
import { checkPage, countFindings, errorsFound, errorsIn } from '../text/findings-page.ts';
import { type NextCommand, nextCommands, printPage } from '../text/phrases.ts';

interface Options extends JobFileOptions, CheckOptions {
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'check.md', [
    'updraft check            # the job file in this folder',
    'updraft check train.sub  # an HTCondor submit file and its script',
  ]);
  jobFileOptions(command)
    .option('--quick', 'check only files and data servers, as submit does')
    .option('--image <file>', 'look into this local copy of the image')
    .option('--json', 'print JSON')
    .action((where: string, options: Options) => check(cli, where, options));
}

async function check(cli: Cli, named: string, options: Options): Promise<void> {
  const where = await jobFileAbove(cli, named);
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
  printChecked(cli, titleOf(checked), checked, toJson(checked), options, {
    file: checked.plan.file,
    again: `updraft check${jobFileArgument(where, options)}`,
    next: [
      [`updraft plan${jobFileArgument(where, options)}`, 'what would be sent and run, and why'],
      [`updraft run${jobFileArgument(where, options)}`, 'submit it and watch'],
    ],
  });
}

function printChecked(
  cli: Cli,
  title: string,
  report: CheckReport,
  data: object,
  { json = false }: { json?: boolean },
  { file, again, next }: { file: string; again: string; next: NextCommand[] },
): void {
  const errors = errorsIn(report.findings);
  printPage(cli, checkPage(title, report), [], json && { ok: errors === 0, ...data });
  if (errors > 0)
    throw errorsFound(file, { errors, message: `${file}: ${counted(errors, 'error')}`, again, json });
  if (!json) nextCommands(cli, next);
}

/** Neither a folder nor named like a job file: a submit file may have any name. */
async function isSubmitFile(file: string): Promise<boolean> {
  const found = await statIfExists(file);
  return found?.isDirectory() === false && !/\.(toml|ya?ml)$/i.test(file);
}

async function checkFile(cli: Cli, where: string, file: string, options: Options): Promise<void> {
  const { checkSubmitFile } = await import('../../preflight/check-submit-file.ts');
  const checked = await checkSubmitFile(cli, file, options.image);
  const { findings, jobs } = checked;
  const found = countFindings(findings);
  const title = `${where}: ${jobs === undefined ? 'jobs' : counted(jobs, 'job')} for HTCondor`;
  printChecked(cli, found === '' ? `ok: ${title}` : `${title}; ${found}`, checked, checked, options, {
    file,
    again: `updraft check ${shellQuote(where)}`,
    next: [[`condor_submit ${shellQuote(where)}`, 'submit it']],
  });
}

function titleOf({ plan, findings, unchecked }: Checked): string {
  const sent = `${counted(plan.files.length, 'file')} (${sentBytes(plan)}), ${counted(plan.data.length, 'data set')}`;
  const found = countFindings(findings);
  if (found !== '') return `${headline(plan)}; ${found}`;
  return `${unchecked.length === 0 ? 'ok' : 'nothing wrong so far'}: ${headline(plan)}; ${sent}`;
}

const toJson = ({ plan, findings, looked, unchecked }: Checked): object => ({
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
});
