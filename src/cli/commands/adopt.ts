import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Command, Option } from 'commander';
import {
  findingsHeadline,
  groupFindings,
  hideInFindings,
  hideSecretsOf,
  lintSubmission,
  quotedTexts,
} from '@updraft/htcondor/lint';
import type { SubmitFacts, WrapperText } from '@updraft/htcondor/submit';
import { type Finding, shellQuote, sortFindings } from '@updraft/base';
import { Fault } from '../../fault/fault.ts';
import { profiles } from '../../job/choices.ts';
import type { ProfileName } from '../../job/spec.ts';
import type { AdoptedRun } from '../adopt/submit-adopted.ts';
import { isDagFile } from '../adopt/dag-file.ts';
import { askCondor, type CondorAnswer } from '../adopt/ask-condor.ts';
import { readUsage, surveyFile, surveyToWrite } from '../adopt/survey-file.ts';
import { readSubmitCode } from '../check/submit-code.ts';
import { condorLines, errorsFound, findingsText } from '../adopt/findings-text.ts';
import type { Cli } from '../cli.ts';
import { askYesNo, nextCommands, textWidth } from '../text/phrases.ts';

interface Options {
  json?: true;
  submit?: true;
  withPlugin?: true;
  write?: true;
  yes?: true;
  new?: true;
  usage?: string;
  pool?: ProfileName;
}

export function configure(command: Command, cli: Cli): void {
  command
    .argument('<file>', 'an HTCondor submit file, or a DAG')
    .option('--json', 'print JSON')
    .option('--submit', 'submit it unchanged, with a run folder')
    .option('--with-plugin', "submit it with Updraft's plugin for osdf:/// URLs")
    .option('--write', 'write a job file for it: updraft.toml')
    .option('--new', 'submit again while its last run is active')
    .option('-y, --yes', 'submit without confirmation, even with errors')
    .option('--usage <log>', 'compare requests with the use in this event log')
    .addOption(
      new Option('--pool <pool>', 'whose rules apply (default: those of this access point)').choices(
        profiles,
      ),
    )
    .action(async (file: string, options: Options) => {
      const full = path.resolve(cli.cwd, file);
      if (!(await isDagFile(full))) return adopt(cli, full, shellQuote(file), options);
      const { adoptDag } = await import('../adopt/adopt-dag.ts');
      return adoptDag(cli, full, shellQuote(file), options);
    });
}

async function adopt(cli: Cli, file: string, argument: string, options: Options): Promise<void> {
  const since = cli.clock.now();
  const usage =
    options.usage === undefined
      ? undefined
      : await readUsage(path.resolve(cli.cwd, options.usage), cli.signal);
  const facts = await surveyFile(cli, file, { pool: options.pool, usage });
  const [code, answer] = await Promise.all([readSubmitCode(cli, file, facts), askCondor(cli, file, facts)]);
  const hide = hideSecretsOf(quotedTexts(facts));
  const findings = sortFindings([...lintSubmission(facts, hide), ...hideInFindings(code.findings, hide)]);
  const condor = { ...answer, messages: answer.messages.map(hide) };
  if (options.json !== true)
    cli.out(
      findingsText(
        findingsHeadline(path.basename(file), facts.submission, findings),
        groupFindings(findings, await textsOf(file, facts)),
        condorLines(condor),
        textWidth(cli),
      ),
    );
  if (options.write === true) {
    const { writeAdopted } = await import('../adopt/write-adopted.ts');
    await writeAdopted(cli, file, await surveyToWrite(cli, file, options.pool));
    return;
  }
  const isBad = condor.accepted === false || findings.some(({ level }) => level === 'error');
  const adopted =
    options.submit === true || options.withPlugin === true
      ? await submit(cli, file, facts, { ...options, since }, isBad)
      : undefined;
  if (options.json === true)
    cli.out(
      `${JSON.stringify({ format: 1, ok: !isBad, ...toJson(file, facts, findings, condor, hide), ...(adopted === undefined ? {} : { submitted: adopted }) })}\n`,
    );
  if (adopted !== undefined) printNext(cli, adopted);
  else if (isBad) throw errorsFound(file, argument, options);
  else if (options.json !== true)
    nextCommands(cli, [[`updraft adopt ${argument} --submit`, 'submit it unchanged, with a run folder']]);
}

async function submit(
  cli: Cli,
  file: string,
  facts: SubmitFacts,
  options: Options & { since: number },
  isBad: boolean,
): Promise<AdoptedRun> {
  const { additionsDiff, plannedRun, submitAdopted } = await import('../adopt/submit-adopted.ts');
  const withPlugin = options.withPlugin === true;
  const wanted = { withPlugin, isNew: options.new === true, since: options.since };
  const planned = await plannedRun(cli, file, facts, wanted);
  if (planned.isResumed) {
    cli.err(`\n${planned.run} is the run of this file: it is not queued again (to do so, add --new)\n`);
    return submitAdopted(cli, file, facts, planned);
  }
  cli.err(
    `\nthe file is not changed; condor_submit gets these statements in addition:\n${additionsDiff(file, facts.submission, planned.added)}`,
  );
  if (options.yes !== true && (isBad || withPlugin)) await confirm(cli, file, isBad);
  return submitAdopted(cli, file, facts, planned);
}

async function confirm(cli: Cli, file: string, isBad: boolean): Promise<void> {
  if (await askYesNo(cli, isBad ? 'There are errors. Submit anyway?' : 'Submit it like this?')) return;
  throw new Fault(isBad ? 'file-invalid' : 'interrupted', `${path.basename(file)} was not submitted`, {
    fix: `${isBad ? 'fix the errors, or ' : ''}submit it with --yes`,
    about: file,
  });
}

function printNext(cli: Cli, { run, cluster }: AdoptedRun): void {
  cli.err(`\nsubmitted as cluster ${cluster}, run ${run}\n`);
  nextCommands(cli, [
    [`updraft watch ${run}`, 'watch it live'],
    [`updraft status ${run}`, 'the state of each job'],
    [`updraft report ${run}`, 'where the time went'],
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

/** What findings are about: the file and its script. */
async function textsOf(file: string, { wrapper }: SubmitFacts): Promise<WrapperText[]> {
  const text = await readFile(file, 'utf8');
  return [...(wrapper === undefined ? [] : [wrapper]), { file: path.basename(file), text }];
}
