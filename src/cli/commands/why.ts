import path from 'node:path';
import type { Command } from 'commander';
import { printable } from '../../base/printable.ts';
import { shellQuote } from '../../base/shell-quote.ts';
import type { Evidence, Explanation } from '../../diagnosis/explanation.ts';
import { Fault } from '../../fault/fault.ts';
import { isAdopted } from '../../pool/htcondor.ts';
import { findJob } from '../../run/run-states.ts';
import { type ExplainedGroup, groupExplanations } from '../../why/group-explanations.ts';
import type { Cli } from '../cli.ts';
import { findRun, pathKind, runAndJobs } from '../find-run.ts';
import { currentState, tellUnsupervised } from '../run-view/current-state.ts';
import { jobList, nextCommands, wrap } from '../text/words.ts';
import { explainLog } from '../why/explain-log.ts';
import { explainRun } from '../why/explain-run.ts';

export function configure(command: Command, cli: Cli): void {
  command
    .argument('[run | log]', 'folder, id or name of a run (default: the latest), or an HTCondor event log')
    .argument('[job]', 'a job: 0003 or 3 of a run; 12.3 or a DAG node of a log (default: all)')
    .option('--json', 'print JSON')
    .action(async (first: string | undefined, second: string | undefined, { json }: { json?: true }) => {
      const kind = first === undefined ? undefined : await pathKind(path.resolve(cli.cwd, first));
      if (first !== undefined && kind === 'file') return whyLog(cli, first, second, json === true);
      if (first !== undefined && kind === undefined && /[./]/.test(first))
        throw new Fault('file-invalid', `there is no log or run ${printable(first)}`, {
          about: first,
          fix: 'name the event log of the jobs, as `log` in their submit file says, or a run',
        });
      return whyRun(cli, first, second, json === true);
    });
}

async function whyLog(cli: Cli, log: string, word: string | undefined, json: boolean): Promise<void> {
  const explanations = await explainLog(path.resolve(cli.cwd, log), log, word, cli.signal);
  const name = shellQuote(log);
  tell(cli, explanations, json, { log: path.resolve(cli.cwd, log) });
  if (json) return;
  const example = shellQuote(printable(groupExplanations(explanations)[0]?.jobs[0] ?? ''));
  nextCommands(cli, [
    explanations.length > 1 && [`updraft why ${name} ${example}`, 'one job, with its evidence'],
    [`updraft report ${name}`, 'where the time of all its jobs went'],
  ]);
}

async function whyRun(
  cli: Cli,
  first: string | undefined,
  second: string | undefined,
  json: boolean,
): Promise<void> {
  const words = runAndJobs([first, second]);
  const [word] = words.jobs;
  const run = await findRun(cli.cwd, words.run);
  const state = await currentState(cli, run.folder);
  const jobs = word === undefined ? state.jobs : [findJob(state, word)];
  const explanations = await explainRun(run.folder, state, jobs, cli.clock.now());
  tell(cli, explanations, json, { run: state.run, folder: run.folder });
  if (json) return;
  await tellUnsupervised(cli, run.folder, state);
  const [only] = explanations;
  const isOne = explanations.length === 1 && only !== undefined;
  const job = isOne ? only.job : (groupExplanations(explanations)[0]?.jobs[0] ?? '');
  nextCommands(cli, [
    !isOne && [`updraft why ${run.argument} ${job}`, 'one job, with its evidence'],
    jobs.some(({ outcome }) => outcome !== undefined && outcome !== 'success') &&
      !(await isAdopted(run.folder)) && [
        `updraft retry ${run.argument}${isOne ? ` ${job}` : ''} --dry-run`,
        'what a retry would do',
      ],
    jobs.find(({ id }) => id === job)?.status === 'running'
      ? [`updraft logs ${run.argument} ${job} -f`, 'what it prints, as it does']
      : [`updraft logs ${run.argument} ${job} --err`, 'what it printed on stderr'],
    [`updraft status ${run.argument}`, 'how each job stands'],
  ]);
}

function tell(
  cli: Cli,
  explanations: readonly Explanation[],
  json: boolean,
  source: Record<string, string>,
): void {
  const [only] = explanations;
  if (json) cli.out(`${JSON.stringify({ ...source, jobs: explanations })}\n`);
  else if (only !== undefined && explanations.length === 1)
    cli.out(`${explanationText(only, cli.columns)}\n`);
  else cli.out(`${groupText(groupExplanations(explanations), cli.columns)}\n`);
}

/** Groups of jobs, each with its cause and an example's account. */
function groupText(groups: readonly ExplainedGroup[], columns: number): string {
  const width = Math.max(40, Math.min(columns, 100));
  return groups
    .map(({ standing, title, jobs, example }) =>
      [
        `${jobs.length} ${standing}: ${title}`,
        ...wrap(`${jobs.length === 1 ? 'job' : 'jobs'} ${jobList(jobs.map(printable))}`, width, '  ', '    '),
        ...(example.cause === 'none' ? [] : example.because.slice(0, 2)).flatMap((sentence) =>
          wrap(`${example.job}: ${sentence}`, width, '  ', '    '),
        ),
      ].join('\n'),
    )
    .join('\n\n');
}

/** Wide enough for a sentence, narrow enough for the eye. */
const widest = 100;

/** One job explained: cause, evidence, what is being done, what the user could do. */
export function explanationText(explanation: Explanation, columns: number): string {
  const width = Math.max(40, Math.min(columns, widest));
  const { job, node, standing, title, because, evidence, doing, advice } = explanation;
  return [
    `${job}${node === undefined ? '' : ` (${printable(node)})`} ${standing}: ${title}`,
    ...section('why', because, width),
    ...evidenceLines(evidence),
    ...section('what is being done', doing, width),
    ...section('what you could do', advice, width),
  ].join('\n');
}

function section(title: string, sentences: readonly string[], width: number): string[] {
  if (sentences.length === 0) return [];
  return ['', title, ...sentences.flatMap((sentence) => wrap(sentence, width, '  ', '    '))];
}

/** As they are written: not wrapped, so that they can be searched for. */
function evidenceLines(evidence: readonly Evidence[]): string[] {
  const shown = evidence.filter((one, index) => evidence.findIndex((other) => sameAs(one, other)) === index);
  if (shown.length === 0) return [];
  return [
    '',
    'shown by',
    ...shown.flatMap((one) => [`  ${placeOf(one)}  ${one.at}`, ...one.lines.map((line) => `      ${line}`)]),
  ];
}

const sameAs = (a: Evidence, b: Evidence): boolean =>
  a.file === b.file && a.offset === b.offset && a.entry === b.entry;

/** `events.log, byte 1811` (a colon would pass for a line), or `journal.jsonl#12` (an entry's number). */
function placeOf({ file, offset, entry }: Evidence): string {
  if (offset !== undefined) return `${file}, byte ${offset}`;
  return entry === undefined ? file : `${file}#${entry}`;
}
