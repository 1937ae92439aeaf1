import path from 'node:path';
import type { Command } from 'commander';
import { counted, printable, given } from '@updraft/base';
import { jobLabel } from '@updraft/account/parameters';
import { isOpen, type JobState, type RunState } from '@updraft/account/journal';
import { openPool } from '../../pool/open-pool.ts';
import type { Pool } from '../../pool/pool.ts';
import { findJob, followRunStates, readRunState, requestStop } from '../../run/run-states.ts';
import { describeState } from '../../run/describe-job.ts';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { findRun, runAndJobs } from '../find-run.ts';
import { currentState, printTrouble, whileRefreshing } from '../run-view/current-state.ts';
import { printJson, askYesNo, nextCommands } from '../text/phrases.ts';

interface Options {
  yes?: true;
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'checkpoints.md', [
    'updraft stop               # the latest run',
    'updraft stop cifar10 0003  # one job of the latest run called cifar10',
  ])
    .argument('[run]', 'folder, id or name of a run (default: the latest)')
    .argument('[job...]', 'jobs to stop (default: all)')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--json', 'print JSON')
    .action((run: string | undefined, jobs: string[], options: Options) =>
      stop(cli, runAndJobs([run, ...jobs]), options),
    );
}

async function stop(cli: Cli, words: ReturnType<typeof runAndJobs>, options: Options): Promise<void> {
  const { folder, argument } = await findRun(cli, words.run, { command: 'stop', jobs: words.jobs });
  const before = await currentState(cli, folder);
  const chosen = words.jobs.map((word) => findJob(before, word));
  const jobs = chosen.map(({ id }) => id);
  const open = before.jobs.filter(isOpen).length;
  const what =
    chosen.length === 0 ? 'all jobs' : `job ${chosen.map((one) => jobLabel(one.id, one.name)).join(', ')}`;
  const question =
    `Stop ${printable(what)} of ${path.basename(folder)}? Running attempts end; their ` +
    'checkpoints stay for `updraft retry`.';
  if (open > 0 && !options.yes && !options.json && (await askYesNo(cli, question)) === false) {
    cli.err('nothing was stopped\n');
    return;
  }
  const pool = openPool(before.pool, cli);
  const wanted = await requestStop(folder, before, jobs, cli.clock);
  // A job may have ended for us, and still be in the queue.
  const isForgotten = jobs.length === 0 && wanted.length === 0 && (await countQueued(pool, folder)) > 0;
  const stopping = isForgotten ? before.jobs.map(({ id }) => id) : wanted;
  if (stopping.length > 0) {
    cli.err(`stopping ${stopping.length} of ${counted(before.jobs.length, 'job')} ...\n`);
    await pool.stop(folder, stopping);
  }
  const after = await whileRefreshing(cli, folder, () => waitUntilEnded(cli, folder, stopping));
  const isComplete = jobs.length === 0 && stopping.length > 0;
  const queued = isComplete ? await untilQueueIsEmpty(cli, pool, folder) : undefined;
  printStopped(cli, folder, { before, after, asked: stopping, queued }, options);
  printTrouble(cli, after);
  nextCommands(cli, [
    [`updraft status ${argument}`, 'the state of each job'],
    [`updraft report ${argument}`, 'where the time went'],
  ]);
}

/** The command waits this long for the pool to end the jobs; the pool continues without it. */
const maxWaitMs = 60_000;
const reportEveryMs = 5000;

/** The run when all stopped jobs have ended or only clean up, or when that takes too long. */
async function waitUntilEnded(cli: Cli, folder: string, jobs: readonly string[]): Promise<RunState> {
  const stopping = new Set(jobs);
  const over = new AbortController();
  const signal = AbortSignal.any([cli.signal, over.signal]);
  let left: JobState[] = [];
  const reporting = reportWaiting(cli, over, () => left);
  try {
    for await (const state of followRunStates(folder, { clock: cli.clock, signal })) {
      left = state.jobs.filter((job) => stopping.has(job.id) && isOpen(job));
      // A log that is gone will not record the end.
      if (state.trouble !== undefined || left.length === 0) return state;
    }
  } catch (thrown) {
    if (!over.signal.aborted) throw thrown;
  } finally {
    over.abort();
    await reporting;
  }
  return await untilReleased(cli, folder, stopping);
}

/** A run whose last jobs are held has ended, and no longer changes for its followers. */
async function untilReleased(cli: Cli, folder: string, stopping: ReadonlySet<string>): Promise<RunState> {
  const began = cli.clock.monotonic();
  for (;;) {
    const state = await readRunState(folder);
    const isHeld = state.jobs.some(({ id, held }) => held !== undefined && stopping.has(id));
    if (!isHeld || cli.clock.monotonic() - began >= queueWaitMs) return state;
    await cli.clock.sleep(queuePollMs, cli.signal);
  }
}

const queueWaitMs = 20_000;
const queuePollMs = 500;

/** How many jobs the queue still has, after waiting for those that are leaving it; undefined if it cannot be asked. */
async function untilQueueIsEmpty(cli: Cli, pool: Pool, folder: string): Promise<number | undefined> {
  const began = cli.clock.monotonic();
  for (;;) {
    const left = await pool.queued?.(folder).catch(() => undefined);
    if (left === undefined || left === 0 || cli.clock.monotonic() - began >= queueWaitMs) return left;
    await cli.clock.sleep(queuePollMs, cli.signal);
  }
}

/** 0 where there is no queue, or no answer: then the run's folder is all that is known. */
const countQueued = async (pool: Pool, folder: string): Promise<number> =>
  (await pool.queued?.(folder).catch(() => 0)) ?? 0;

/** Such a job has returned everything. */
const isCleaning = (job: JobState): boolean =>
  job.status === 'running' && job.attempts.at(-1)?.agent?.outcome !== undefined;

async function reportWaiting(cli: Cli, over: AbortController, left: () => JobState[]): Promise<void> {
  const began = cli.clock.monotonic();
  const isOver = (): boolean => over.signal.aborted;
  while (!isOver()) {
    await cli.clock.sleep(reportEveryMs, over.signal).catch(() => undefined);
    if (left().length === 0 || isOver()) continue;
    const words = Map.groupBy(left(), describeState)
      .entries()
      .map(([word, { length }]) => `${length} ${word}`);
    cli.err(`  still to end: ${[...words].join(', ')}\n`);
    if (left().every(isCleaning) || cli.clock.monotonic() - began >= maxWaitMs) over.abort();
  }
}

interface Stopped {
  before: RunState;
  after: RunState;
  /** The jobs that were to end. */
  asked: readonly string[];
  /** How many the scheduler's queue still has, if it was asked. */
  queued: number | undefined;
}

function printStopped(
  cli: Cli,
  folder: string,
  { before, after: state, asked, queued }: Stopped,
  { json }: Options,
): void {
  const stopping = new Set(asked);
  const selected = state.jobs.filter(({ id }) => stopping.has(id));
  const held = before.jobs.filter((job) => stopping.has(job.id) && job.held !== undefined).length;
  const stopped = selected.filter(({ outcome }) => outcome === 'removed');
  const run = path.basename(folder);
  if (json) {
    const ids = [...stopped, ...selected.filter(isCleaning)].map(({ id }) => id);
    printJson(cli, { run, folder, stopped: ids, held, queued, tally: state.tally });
  } else if (selected.length === 0) {
    const what = state.endedAt === undefined ? 'what you named' : 'it';
    cli.err(`nothing to stop in ${run}: ${what} has ended\n`);
  } else {
    const cleaning = selected.filter(isCleaning).length;
    const open = selected.filter(isOpen).length - cleaning;
    const others = selected.length - stopped.length - open - cleaning;
    const also = given(
      others > 0 && `; ${others} ended by ${others === 1 ? 'itself' : 'themselves'}`,
      open > 0 && `; ${open} ${open === 1 ? 'was' : 'were'} asked to end`,
      cleaning > 0 && `; ${cleaning} still removing files in the background`,
      queued !== undefined && `; ${describeQueue(queued)}`,
    );
    const ofThem = held > 0 ? ` (${held} of them held)` : '';
    cli.out(`stopped ${counted(stopped.length + cleaning, 'job')} of ${run}${ofThem}${also.join('')}\n`);
  }
}

const describeQueue = (queued: number): string =>
  queued === 0
    ? 'none is left in the queue'
    : `${queued} ${queued === 1 ? 'is' : 'are'} still in the queue: run the same command again in a minute`;
