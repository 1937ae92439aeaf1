import path from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { counted, defined, firstFew, printable, given } from '@updraft/base';
import { type Document, documentText } from '@updraft/view/document';
import { usageFault } from '@updraft/account/fault';
import { describeParameters } from '@updraft/account/parameters';
import { loadPlan } from '../../job/load-plan.ts';
import type { Plan } from '../../job/plan.ts';
import { withDrawnTrials } from '../../job/search-trials.ts';
import { type JobState, type RunState, stoppedEarly } from '@updraft/account/journal';
import { openPool } from '../../pool/open-pool.ts';
import {
  type Extension,
  extendSearch,
  planExtension,
  type RetryResult,
  retryRun,
  unfinishedJobs,
  type UnfinishedState,
  compareJobFile,
  type Correction,
} from '../../run/rounds.ts';
import { explainedLabel, type Explanation, maxLabels, type Need, whatMustChange } from '@updraft/account/why';
import { type ResourceChange, readPlan, roundPlan } from '../../pool/pool.ts';
import { findJob } from '../../run/run-states.ts';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { findRun, type FoundRun, runAndJobs } from '../find-run.ts';
import { loadOptions } from '../job-file-argument.ts';
import { currentState } from '../run-view/current-state.ts';
import { durationOption, sizeOption } from '../submit/options.ts';
import { askYesNo, nextCommands, outWidth, printJson, printPage } from '../text/phrases.ts';
import { explainRun } from '../why/explain-run.ts';

interface Options {
  memory?: number;
  disk?: number;
  time?: number;
  withNewFiles?: true;
  trials?: number;
  top?: number;
  budget?: number;
  dryRun?: true;
  yes?: true;
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'retry.md', [
    'updraft retry --dry-run                    # what would run again, and what must change',
    'updraft retry cifar10 3 7 --memory "8 GB"  # two jobs, with more memory',
    'updraft retry tune --trials +50            # fifty trials more of a search',
    'updraft retry tune --top 5 --budget 4x     # its best five go on, four times as long',
  ])
    .argument('[run]', 'folder, id or name of a run (default: the latest)')
    .argument('[job...]', 'jobs to retry (default: all without a valid result)')
    .option('--memory <size>', 'new memory request, as in "16 GB"', sizeOption)
    .option('--disk <size>', 'new disk request', sizeOption)
    .option('--time <time>', 'new time limit of an attempt, as in 10h', durationOption)
    .option('--with-new-files', 'use the job file and its files as they are now')
    .option('--trials <+n>', 'add trials to a search, as in +50', (text) =>
      numberIn(text, /^\+([1-9]\d{0,5})$/, 'a number of trials to add, such as +50'),
    )
    .option('--top <n>', 'let this many of the best trials go on, with --budget', (text) =>
      numberIn(text, /^([1-9]\d{0,5})$/, 'a number of trials, such as 5'),
    )
    .option('--budget <factor>', "their epochs or steps, as in 4x of the search's", (text) =>
      numberIn(text, /^((?:[2-9]|[1-9]\d+|1(?=\.\d*[1-9]))(?:\.\d+)?)x$/, 'a factor above 1, such as 4x'),
    )
    .option('--dry-run', 'show what would be retried and what must change')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--json', 'print JSON')
    .action((run: string | undefined, jobs: string[], options: Options) => retry(cli, run, jobs, options));
}

async function retry(cli: Cli, first: string | undefined, more: string[], options: Options): Promise<void> {
  const words = runAndJobs([first, ...more]);
  const run = await findRun(cli, words.run, { command: 'retry', jobs: words.jobs });
  const state = await currentState(cli, run.folder);
  const selection = selectionOf(words.jobs, options);
  const asked = extensionOf(words.jobs, options);
  if (asked !== undefined) {
    await extend(cli, run, state, { asked, change: selection.change }, options);
    return;
  }
  const load = ({ file, overrides }: Plan): Promise<Plan> =>
    loadPlan(file, loadOptions(cli, overrides ?? {}));
  const plan = await planRetry(run.folder, state, selection, cli.clock.now(), load);
  const isJson = options.json ?? false;
  const say = (done: RetryResult): void => printRetry(cli, run, state, plan, done, isJson);
  if (plan.retries.length === 0) {
    say(noneRetried);
    return;
  }
  const page = retryPage(plan, state.jobs.length);
  if (options.dryRun) {
    if (isJson) say(noneRetried);
    else printPage(cli, page);
    return;
  }
  if (!isJson) cli.err(documentText(page, outWidth(cli)));
  const what = plan.retries.length === 1 ? 'this job' : `these ${plan.retries.length} jobs`;
  if (!(await isWanted(cli, `Try ${what} again?`, options))) return;
  const pool = openPool(state.pool, cli);
  const ids = plan.retries.map(({ job }) => job);
  const { now, correction } = plan;
  const changed = [...correction.changes.map(({ key }) => key), ...correction.files];
  const corrected = now && { now, changed };
  say(await retryRun(run.folder, pool, { jobs: ids, change: selection.change, corrected }, cli));
  sayNext(cli, run);
}

const sayNext = (cli: Cli, { argument }: FoundRun): void =>
  nextCommands(cli, [
    [`updraft watch ${argument}`, 'watch it live'],
    [`updraft status ${argument}`, 'the state of each job'],
  ]);

async function isWanted(cli: Cli, question: string, { yes, json }: Options): Promise<boolean> {
  if (yes || json || (await askYesNo(cli, question)) !== false) return true;
  cli.err('nothing was changed\n');
  return false;
}

function numberIn(text: string, pattern: RegExp, expected: string): number {
  const [, number] = pattern.exec(text) ?? [];
  if (number === undefined) throw new InvalidArgumentError(`it must be ${expected}.`);
  return Number(number);
}

/** What of a search is to be extended, if that is asked for. */
function extensionOf(named: readonly string[], options: Options): Extension | undefined {
  const { trials, top, budget: times, withNewFiles } = options;
  if (trials === undefined && top === undefined && times === undefined) return undefined;
  const isAlone = named.length === 0 && withNewFiles === undefined;
  if (isAlone && trials !== undefined && top === undefined && times === undefined) return { trials };
  if (isAlone && trials === undefined && top !== undefined && times !== undefined) return { top, times };
  throw usageFault(
    'a search is extended by --trials, or by --top with --budget, and nothing else',
    'use one of the two, without naming jobs and without --with-new-files',
  );
}

async function extend(
  cli: Cli,
  run: FoundRun,
  state: RunState,
  request: { asked: Extension; change: ResourceChange },
  options: Options,
): Promise<void> {
  const { json, dryRun } = options;
  // With what a sampler has drawn, so that it is not asked again.
  const { jobs, asked } = await planExtension(run.folder, state, request.asked, cli);
  const names = jobs.map(({ id, parameters }) => `${id} (${describeParameters(parameters)})`);
  const what = 'top' in request.asked ? 'to go on' : 'to add';
  const shown = printable(firstFew(names, maxLabels));
  if (!json) cli.err(`${counted(jobs.length, 'trial')} ${what}${shown === '' ? '' : `: ${shown}`}\n`);
  const isQueued = jobs.length > 0 && !dryRun && (await isWanted(cli, 'Queue them?', options));
  const pool = openPool(state.pool, cli);
  const queued = isQueued ? await extendSearch(run.folder, pool, { ...request, asked }, cli) : [];
  if (json) {
    const its = jobs.map(({ id, parameters }) => ({ job: id, parameters }));
    printJson(cli, { run: state.run, folder: run.folder, jobs: its, queued, released: [] });
  } else if (isQueued) cli.out(`queued ${counted(queued.length, 'trial')} of ${state.run}\n`);
  if (isQueued) sayNext(cli, run);
}

const noneRetried: RetryResult = { queued: [], released: [] };

function selectionOf(jobs: string[], { memory, disk, time, withNewFiles }: Options): RetrySelection {
  const change = defined({ memoryBytes: memory, diskBytes: disk, timeSeconds: time });
  return { jobs, change, withNewFiles: withNewFiles ?? false };
}

function describeDone({ queued, released }: RetryResult): string {
  const parts = given(
    queued.length > 0 && `queued ${counted(queued.length, 'job')} again`,
    released.length > 0 && `released ${counted(released.length, 'job')} that the scheduler held`,
  );
  return parts.length === 0 ? 'nothing left to try again' : parts.join(', ');
}

function printRetry(
  cli: Cli,
  { folder }: FoundRun,
  { run, endedAt }: RunState,
  { retries, left, correction: { changes, files, notUsed } }: RetryPlan,
  done: RetryResult,
  json: boolean,
): void {
  if (json) {
    const jobs = retries.map(asJson);
    const said = { run, folder, jobs, left, changes, changedFiles: files, notUsed };
    printJson(cli, { ...said, ...done });
  } else if (retries.length > 0) {
    cli.out(`${describeDone(done)} of ${run}\n`);
  } else {
    for (const { job, why } of left) cli.err(`${job} is left alone: it ${why}\n`);
    const rest = endedAt === undefined ? 'no job has ended without' : 'every job has';
    cli.err(`nothing to retry in ${run}${left.length > 0 ? '' : `: ${rest} a valid result`}\n`);
  }
}

function asJson({ job, lack, what, isMet, explanation: { cause, title, because } }: PlannedRetry): object {
  return { job, lack, cause, title, because, mustChange: what, changeIsMade: isMet };
}

interface RetrySelection {
  /** As the user names them; all when empty. */
  jobs: readonly string[];
  change: ResourceChange;
  withNewFiles: boolean;
}

/** A job to retry: what happened, and what must change. */
interface PlannedRetry extends Need {
  job: string;
  lack: UnfinishedState;
  explanation: Explanation;
}

interface RetryPlan {
  retries: PlannedRetry[];
  /** Named jobs that need no retry, with the reason. */
  left: { job: string; why: string }[];
  /** How the job file and its files differ from the run's. */
  correction: Correction;
  /** The job file's plan, if the retry uses it. */
  now: Plan | undefined;
}

/** What a retry of the run would do, and why. Changes nothing. */
async function planRetry(
  folder: string,
  state: RunState,
  selection: RetrySelection,
  now: number,
  load: (run: Plan) => Promise<Plan>,
): Promise<RetryPlan> {
  const named = selection.jobs.map((word) => findJob(state, word));
  const selected = named.length === 0 ? state.jobs : state.jobs.filter((job) => named.includes(job));
  const lacking = await unfinishedJobs(folder, selected);
  const [first, last] = [await readPlan(folder), await roundPlan(folder, state.rounds)];
  const comparing = load(first).then((now) => {
    const drawn = last.jobs.map(({ parameters }) => parameters);
    const loaded = withDrawnTrials(now, now.spec.search?.sampler === undefined ? undefined : drawn);
    return { loaded, correction: compareJobFile(first, last, loaded) };
  });
  const { loaded, correction } = await comparing.catch((error: unknown) => {
    if (selection.withNewFiles) throw error;
    // What became of the job file does not matter: the run has its plan and copies.
    return { loaded: undefined, correction: { changes: [], files: [], notUsed: [] } };
  });
  const { changes: keys, files } = correction;
  const changed = given(keys.length > 0 && path.basename(first.file), ...files);
  const { memoryBytes, diskBytes, timeSeconds } = selection.change;
  const changes = {
    memory: memoryBytes !== undefined,
    disk: diskBytes !== undefined,
    time: timeSeconds !== undefined,
    files: { changed, used: selection.withNewFiles },
  };
  const jobs = lacking.map(({ job }) => job);
  const explanations = await explainRun(folder, state, jobs, now);
  const retries = lacking.flatMap(({ job, lack }, index) => {
    const explanation = explanations[index];
    if (explanation === undefined) return [];
    const need = lack === 'missing' ? lostResult : whatMustChange(explanation, changes);
    return [{ job: job.id, lack, explanation, ...need }];
  });
  const left = named
    .filter((job) => !jobs.includes(job))
    .map((job) => ({ job: job.id, why: whyLeftOut(job) }));
  return { retries, left, correction, now: selection.withNewFiles ? loaded : undefined };
}

const lostResult: Need = {
  what: 'Nothing: it had a valid result, which is gone or incomplete.',
  isMet: true,
};

function whyLeftOut(job: JobState): string {
  const { status, outcome, isKeptBack, atRung, held } = job;
  if (stoppedEarly(job) !== undefined) return 'was stopped early: --top and --budget let it go on';
  if (outcome === 'success') return 'has a valid result';
  if (isKeptBack) return atRung === undefined ? 'waits for the canary jobs' : 'waits for the next round';
  if (held !== undefined) return 'is held, and is released automatically or by whoever holds it';
  return status === 'running' ? 'is running' : 'waits for its next attempt';
}

/** What would be retried, by cause: which jobs, what happened, what must change. */
function retryPage({ retries, left, now, correction }: RetryPlan, total: number): Document {
  const groups = Map.groupBy(retries, ({ lack, explanation, what }) =>
    [lack, explanation.title, what].join('\n'),
  );
  return [
    `${retries.length === total ? '' : `${retries.length} of `}${counted(total, 'job')} to try again`,
    ...[...groups.values()].flatMap(groupPage),
    ...left.flatMap(({ job, why }) => ['', `${job} is left alone: it ${why}`]),
    ...(now === undefined ? [] : correctionPage(correction)),
  ];
}

/** What is taken from the job file, old and new, and what is not. */
function correctionPage({ changes, notUsed }: Correction): Document {
  const too = `${firstFew(notUsed, 8)} changed, too, which a retry does not use: \`updraft run --new\` does.`;
  return [
    ...(changes.length > 0 ? ['', 'the job file has changed since:'] : []),
    ...changes.flatMap(({ key, from, to }) => [
      `  ${printable(key)}: ${printable(from)}`,
      `    → ${printable(to)}`,
    ]),
    ...(notUsed.length > 0 ? ['', too] : []),
  ];
}

function groupPage(group: readonly PlannedRetry[]): Document {
  const [first] = group;
  if (first === undefined) return [];
  const { lack, explanation, what, isMet } = first;
  const labels = group.map((one) => explainedLabel(one.explanation));
  const isGone = lack === 'missing';
  return given(
    '',
    `${firstFew(labels, maxLabels)} ${lack}: ${isGone ? 'its results are gone' : explanation.title}`,
    ...(isGone ? [] : explanation.because.slice(0, 1)).map((sentence) => `  ${printable(sentence)}`),
    `  what must change: ${printable(what)}`,
    isMet === false && '  Without a change it will probably fail the same way.',
  );
}
