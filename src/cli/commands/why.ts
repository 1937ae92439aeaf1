import path from 'node:path';
import type { Command } from 'commander';
import { printable } from '../../base/printable.ts';
import { shellQuote } from '../../base/shell-quote.ts';
import { clip, wrap } from '../../base/text-table.ts';
import type { Evidence, Explanation } from '../../diagnosis/explanation.ts';
import { Fault } from '../../fault/fault.ts';
import type { JobState } from '../../journal/state.ts';
import { isAdopted } from '../../pool/htcondor.ts';
import { findJob } from '../../run/run-states.ts';
import { type ExplainedGroup, groupExplanations, groupTitle } from '../../why/group-explanations.ts';
import type { Cli } from '../cli.ts';
import { findRun, pathKind, runAndJobs } from '../find-run.ts';
import { currentState, printUnsupervised } from '../run-view/current-state.ts';
import { jobList, type NextCommand, nextCommands, textWidth } from '../text/phrases.ts';
import { explainLog } from '../why/explain-log.ts';
import { explainRun } from '../why/explain-run.ts';

export function configure(command: Command, cli: Cli): void {
  command
    .argument('[run | log]', 'folder, id or name of a run (default: the latest), or an HTCondor event log')
    .argument('[job]', 'a job: 0003 or 3 of a run; 12.3 or a DAG node of a log (default: all)')
    .option('--json', 'print JSON')
    .option('--verbose', 'also print the journal entries of the run')
    .action(async (first: string | undefined, second: string | undefined, options: Partial<View>) => {
      const view = { json: options.json ?? false, verbose: options.verbose ?? false };
      const kind = first === undefined ? undefined : await pathKind(path.resolve(cli.cwd, first));
      if (first !== undefined && kind === 'file') return whyLog(cli, first, second, view);
      if (first !== undefined && kind === undefined && /[./]/.test(first))
        throw new Fault('file-invalid', `there is no log or run ${printable(first)}`, {
          about: first,
          fix: 'name a run, or the event log of the jobs (`log` in their submit file)',
        });
      return whyRun(cli, first, second, view);
    });
}

async function whyLog(cli: Cli, log: string, word: string | undefined, view: View): Promise<void> {
  const explanations = await explainLog(path.resolve(cli.cwd, log), log, word, cli.signal);
  const name = shellQuote(log);
  show(cli, explanations, view, { log: path.resolve(cli.cwd, log) });
  if (view.json) return;
  const example = shellQuote(printable(groupExplanations(explanations)[0]?.jobs[0] ?? ''));
  nextCommands(cli, [
    explanations.length > 1 && [`updraft why ${name} ${example}`, 'one job in full'],
    [`updraft report ${name}`, 'where the time went'],
  ]);
}

async function whyRun(
  cli: Cli,
  first: string | undefined,
  second: string | undefined,
  view: View,
): Promise<void> {
  const words = runAndJobs([first, second]);
  const [word] = words.jobs;
  const run = await findRun(cli.cwd, words.run);
  const state = await currentState(cli, run.folder);
  const jobs = word === undefined ? state.jobs : [findJob(state, word)];
  const explanations = await explainRun(run.folder, state, jobs, cli.clock.now());
  show(cli, explanations, view, { run: state.run, folder: run.folder });
  if (view.json) return;
  await printUnsupervised(cli, run.folder, state);
  const [only] = explanations;
  const isOne = explanations.length === 1 && only !== undefined;
  const job = isOne ? only.job : (groupExplanations(explanations)[0]?.jobs[0] ?? '');
  nextCommands(cli, [
    !isOne && [`updraft why ${run.argument} ${job}`, 'one job in full'],
    jobs.some(({ outcome }) => outcome !== undefined && outcome !== 'success') &&
      !(await isAdopted(run.folder)) && [
        `updraft retry ${run.argument}${isOne ? ` ${job}` : ''} --dry-run`,
        'what a retry would do',
      ],
    logsOf(
      run.argument,
      jobs.find(({ id }) => id === job),
    ),
    [`updraft status ${run.argument}`, 'the state of each job'],
  ]);
}

function logsOf(run: string, job: JobState | undefined): NextCommand {
  if (job === undefined || job.attempts.length === 0) return undefined;
  return job.status === 'running'
    ? [`updraft logs ${run} ${job.id} -f`, 'follow its output']
    : [`updraft logs ${run} ${job.id} --err`, 'what it printed on stderr'];
}

interface View {
  json: boolean;
  verbose: boolean;
}

function show(
  cli: Cli,
  explanations: readonly Explanation[],
  { json, verbose }: View,
  source: Record<string, string>,
): void {
  const [only] = explanations;
  if (json) cli.out(`${JSON.stringify({ ...source, jobs: explanations })}\n`);
  else if (only !== undefined && explanations.length === 1)
    cli.out(`${explanationText(only, textWidth(cli), verbose)}\n`);
  else cli.out(`${groupText(groupExplanations(explanations), textWidth(cli))}\n`);
}

/** Groups of jobs, each with its cause and an example. */
function groupText(groups: readonly ExplainedGroup[], width: number): string {
  return groups
    .map((group) => {
      const { standing, jobs, example } = group;
      const { job, cause, because, advice } = example;
      const account = cause === 'none' ? [] : because.slice(0, 2).map((sentence) => `${job}: ${sentence}`);
      return [
        ...wrap(`${jobs.length} ${standing}: ${groupTitle(group)}`, width, '', '  '),
        ...wrap(`${jobs.length === 1 ? 'job' : 'jobs'} ${jobList(jobs.map(printable))}`, width, '  ', '    '),
        ...section('why', account, width, '  '),
        ...section('fix', cause === 'none' ? [] : advice.slice(0, 1), width, '  '),
      ].join('\n');
    })
    .join('\n\n');
}

/**
 * One job explained: why, the traceback or the log lines that show it, what happens now, and the fix. Nothing is said
 * twice; journal entries, which are JSON, are shown with `--verbose`.
 */
export function explanationText(explanation: Explanation, width: number, verbose = false): string {
  const { job, node, standing, title, because, traceback, evidence, doing, advice } = explanation;
  const raised = traceback?.lines.find((line) => !line.startsWith(' ')) ?? '';
  const account = because.map((sentence) => (raised === '' ? sentence : sentence.replace(`: ${raised}`, '')));
  return [
    ...wrap(
      `${job}${node === undefined ? '' : ` (${printable(node)})`} ${standing}: ${title}`,
      width,
      '',
      '  ',
    ),
    '',
    ...section('why', account, width),
    ...(traceback === undefined ? [] : tracebackLines(traceback, width)),
    ...evidenceLines(verbose ? evidence : notSaid(evidence, because), width),
    ...section('now', doing, width),
    ...section('fix', advice, width),
  ].join('\n');
}

const margin = '     ';

/** Sentences beside a three-letter label. */
function section(label: string, sentences: readonly string[], width: number, before = ''): string[] {
  return sentences.flatMap((sentence, index) =>
    wrap(sentence, width, `${before}${index === 0 ? `${label}  ` : margin}`, `${before}${margin}  `),
  );
}

/** Quoted code is cut at the width; the exception wraps. */
const tracebackLines = ({ file, lines }: NonNullable<Explanation['traceback']>, width: number): string[] => [
  `${margin}${file}:`,
  ...lines.flatMap((line) =>
    line.startsWith(' ')
      ? clip(`${margin}${line}`, width)
      : wrap(line, width, `${margin}  `, `${margin}    `),
  ),
];

/** Evidence that neither the sentences nor earlier lines contain. */
function notSaid(evidence: readonly Evidence[], because: readonly string[]): Evidence[] {
  const said = [...because];
  return evidence
    .filter(({ entry }) => entry === undefined)
    .map((one) => {
      const lines = one.lines.filter((line) => isTitle(line) || !said.some((other) => says(other, line)));
      said.push(...lines);
      return { ...one, lines };
    });
}

/** `012 Job was held.` */
const isTitle = (line: string): boolean => /^\d{3} /.test(line);

/** The same words about another slot add nothing. */
const says = (said: string, line: string): boolean => withoutSlots(said).includes(withoutSlots(line));
const withoutSlots = (line: string): string => line.replaceAll(/\bslot\d+(?:_\d+)?@/g, '');

function evidenceLines(evidence: readonly Evidence[], width: number): string[] {
  const shown = evidence.filter((one, index) => evidence.findIndex((other) => sameAs(one, other)) === index);
  return shown.flatMap((one, index) => [
    `${index === 0 ? 'log  ' : margin}${locationOf(one)}  ${one.at}`,
    ...one.lines.flatMap((line) => quotedLine(line, width)),
  ]);
}

/** Tables stay as they are. */
const quotedLine = (line: string, width: number): string[] =>
  line.length + margin.length + 2 <= width
    ? [`${margin}  ${line}`]
    : wrap(line.trim(), width, `${margin}  `, `${margin}    `);

const sameAs = (a: Evidence, b: Evidence): boolean =>
  a.file === b.file && a.offset === b.offset && a.entry === b.entry;

/** `events.log, byte 1811` (a colon would look like a line number), or `journal.jsonl#12` (an entry's number). */
function locationOf({ file, offset, entry }: Evidence): string {
  if (offset !== undefined) return `${file}, byte ${offset}`;
  return entry === undefined ? file : `${file}#${entry}`;
}
