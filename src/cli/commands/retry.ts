import type { Command } from 'commander';
import { counted, defined } from '@updraft/base';
import { loadPlan } from '../../job/load-plan.ts';
import type { Plan } from '../../job/plan.ts';
import type { RunState } from '../../journal/state.ts';
import { openPool } from '../../pool/open-pool.ts';
import { type RetryResult, retryRun } from '../../run/retry-run.ts';
import type { Cli } from '../cli.ts';
import { findRun, type FoundRun, runAndJobs } from '../find-run.ts';
import { loadOptions } from '../job-file-argument.ts';
import {
  type PlannedRetry,
  planRetry,
  type RetryPlan,
  retryText,
  type RetrySelection,
} from '../retry/plan-retry.ts';
import { currentState } from '../run-view/current-state.ts';
import { durationOption, sizeOption } from '../submit/options.ts';
import { askYesNo, nextCommands, textWidth } from '../text/phrases.ts';

interface Options {
  memory?: number;
  disk?: number;
  time?: number;
  withNewFiles?: true;
  dryRun?: true;
  yes?: true;
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  command
    .argument('[run]', 'folder, id or name of a run (default: the latest)')
    .argument('[job...]', 'jobs to retry (default: all without a valid result)')
    .option('--memory <size>', 'new memory request, as in "16 GB"', sizeOption)
    .option('--disk <size>', 'new disk request', sizeOption)
    .option('--time <time>', 'new time limit of an attempt, as in 10h', durationOption)
    .option('--with-new-files', 'use the job file and its files as they are now')
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
  const load = ({ file, overrides }: Plan): Promise<Plan> =>
    loadPlan(file, loadOptions(cli, overrides ?? {}));
  const plan = await planRetry(run.folder, state, selection, cli.clock.now(), load);
  const isJson = options.json ?? false;
  const say = (done: RetryResult): void => printRetry(cli, run, state, plan, done, isJson);
  if (plan.retries.length === 0) {
    say(noneRetried);
    return;
  }
  const text = `${retryText(plan, state.jobs.length, textWidth(cli))}\n`;
  if (options.dryRun) {
    if (isJson) say(noneRetried);
    else cli.out(text);
    return;
  }
  if (!isJson) cli.err(text);
  const what = plan.retries.length === 1 ? 'this job' : `these ${plan.retries.length} jobs`;
  if (!options.yes && !isJson && (await askYesNo(cli, `Try ${what} again?`)) === false) {
    cli.err('nothing was changed\n');
    return;
  }
  const pool = openPool(state.pool, cli);
  const ids = plan.retries.map(({ job }) => job);
  const { now, correction } = plan;
  const changed = [...correction.changes.map(({ key }) => key), ...correction.files];
  const corrected = now && { now, changed };
  say(await retryRun(run.folder, pool, { jobs: ids, change: selection.change, corrected }, cli));
  nextCommands(cli, [
    [`updraft watch ${run.argument}`, 'watch it live'],
    [`updraft status ${run.argument}`, 'the state of each job'],
  ]);
}

const noneRetried: RetryResult = { queued: [], released: [] };

function selectionOf(jobs: string[], { memory, disk, time, withNewFiles }: Options): RetrySelection {
  const change = defined({ memoryBytes: memory, diskBytes: disk, timeSeconds: time });
  return { jobs, change, withNewFiles: withNewFiles ?? false };
}

function describeDone({ queued, released }: RetryResult): string {
  const parts = [
    ...(queued.length > 0 ? [`queued ${counted(queued.length, 'job')} again`] : []),
    ...(released.length > 0 ? [`released ${counted(released.length, 'job')} that the scheduler held`] : []),
  ];
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
    cli.out(`${JSON.stringify({ ...said, ...done })}\n`);
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
