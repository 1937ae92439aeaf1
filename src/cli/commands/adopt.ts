import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import {
  findingsHeadline,
  groupFindings,
  hideInFindings,
  hideSecretsOf,
  lintSubmission,
  quotedTexts,
} from '@updraft/htcondor/lint';
import type { SubmitFacts } from '@updraft/htcondor/submit';
import { type Document, groupedProblems } from '@updraft/view/document';
import { type Finding, printable, shellQuote, sortFindings, given } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { isDagFile } from '../named-logs.ts';
import { askCondor, type CondorAnswer } from '../../preflight/ask-condor.ts';
import { surveyFile, surveyToWrite } from '../../preflight/survey-file.ts';
import { readSubmitCode } from '../../preflight/submit-code.ts';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { draftSubmitted } from '../../draft/draft-submitted.ts';
import { renderJob } from '../../draft/render-job.ts';
import { jobFileArgument } from '../job-file-argument.ts';
import { refuseSecondFile, schemaLine, writeJobFile } from '../write-job-file.ts';
import { adoptErrors, errorsIn } from '../text/findings-page.ts';
import { nextCommands, printJson, printPage } from '../text/phrases.ts';

interface Options {
  json?: true;
  write?: true;
  pool?: string;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'coming-from-a-submit-file.md', [
    'updraft adopt train.sub --pool ospool  # check it by the rules of the OSPool',
    'updraft adopt train.sub --json         # print what was found as JSON',
  ])
    .argument('<file>', 'an HTCondor submit file, or a DAG')
    .option('--json', 'print JSON')
    .option('--write', 'write a job file for it: updraft.toml')
    .option('--pool <profile>', 'whose rules apply, like "ospool" (default: those of this access point)')
    .action(async (file: string, options: Options) => {
      const full = path.resolve(cli.cwd, file);
      if (!(await isDagFile(full))) return adopt(cli, full, shellQuote(file), options);
      const { adoptDag } = await import('../adopt/adopt-dag.ts');
      return adoptDag(cli, full, shellQuote(file), options);
    });
}

async function adopt(cli: Cli, file: string, argument: string, options: Options): Promise<void> {
  const { json = false } = options;
  const facts = await surveyFile(cli, file, { pool: options.pool });
  const [code, answer] = await Promise.all([readSubmitCode(cli, file, facts), askCondor(cli, file, facts)]);
  const hide = hideSecretsOf(quotedTexts(facts));
  const findings = sortFindings([
    ...lintSubmission(facts, hide),
    ...hideInFindings([...code.findings, ...code.tools], hide),
  ]);
  const condor = { ...answer, messages: answer.messages.map(hide) };
  if (!json) printPage(cli, await pageOf(file, facts, findings, condor));
  if (options.write === true) {
    await writeAdopted(cli, file, await surveyToWrite(cli, file, options.pool));
    return;
  }
  const errors = errorsIn(findings);
  const isBad = condor.accepted === false || errors > 0;
  if (json) printJson(cli, { format: 1, ok: !isBad, ...toJson(file, facts, findings, condor, hide) });
  if (isBad) throw adoptErrors(file, { errors, argument, json });
  if (json) return;
  nextCommands(cli, [
    [`condor_submit ${argument}`, 'submit it'],
    [`updraft adopt ${argument} --write`, 'write a job file for it'],
  ]);
}

function toJson(
  file: string,
  { submission }: SubmitFacts,
  findings: Finding[],
  condor: CondorAnswer,
  hide: (text: string) => string,
): Record<string, unknown> {
  return {
    file,
    queues: submission.queues.map(({ place, text, total }) => ({
      line: place.line,
      text: hide(text),
      jobs: total ?? null,
    })),
    findings,
    condor,
  };
}

async function pageOf(
  file: string,
  { submission, wrapper }: SubmitFacts,
  findings: Finding[],
  condor: CondorAnswer,
): Promise<Document> {
  const name = path.basename(file);
  const texts = given(wrapper, { file: name, text: await readFile(file, 'utf8') });
  return [
    findingsHeadline(name, submission, findings),
    ...groupedProblems(groupFindings(findings, texts)),
    '',
    ...condorLines(condor),
  ];
}

/** What HTCondor itself says of a submit file. */
function condorLines({ asked, why, version, accepted, confined, messages }: CondorAnswer): string[] {
  if (!asked) return [`HTCondor was not asked: ${why ?? ''}`];
  const verdict = accepted === true ? 'accepts the file' : 'refuses the file';
  return given(
    `HTCondor ${version ?? ''} ${verdict}${messages.length === 0 ? '' : ':'}`,
    ...messages.map((message) => `  ${printable(message)}`),
    confined !== true &&
      '  (the kernel did not confine it: condor_submit is a script here, or there are no user namespaces)',
  );
}

/** Writes `updraft.toml` beside a submit file, and says what it could not carry over. Never replaces a job file. */
async function writeAdopted(cli: Cli, file: string, facts: SubmitFacts): Promise<void> {
  const { folder = path.dirname(file) } = facts;
  await refuseSecondFile(folder);
  const draft = draftSubmitted(file, facts);
  if (draft === undefined)
    throw new Fault('file-invalid', `${path.basename(file)} has no job with an executable`, {
      fix: 'add `executable` and `queue`, then write the job file',
      about: file,
    });
  const target = path.join(folder, 'updraft.toml');
  const schema = await schemaLine(cli.env);
  const script = path.relative(folder, file);
  await writeJobFile(target, renderJob(draft, { script, pool: 'condor', schema, isRemote: true }));
  cli.out(`${path.relative(cli.cwd, target)}\n`);
  const open = draft.open.map(([what, why]) => `to fill in: ${what}: ${why}\n`);
  const left = draft.hints.map((hint) => `not carried over: ${hint}\n`);
  const needless = draft.submitted?.needless ?? [];
  const done = needless.length === 0 ? [] : [`not needed, Updraft does it itself: ${needless.join(', ')}\n`];
  const hide = hideSecretsOf(quotedTexts(facts));
  cli.err([...open, ...left, ...done].map(hide).join(''));
  const here = jobFileArgument(path.relative(cli.cwd, folder) || '.');
  nextCommands(cli, [
    [`updraft check${here}`, 'find what would fail'],
    [`updraft plan${here}`, 'show what would be sent and run, and why'],
    [`updraft run${here}`, 'submit it and watch'],
  ]);
}
