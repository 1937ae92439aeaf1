import path from 'node:path';
import type { Command } from 'commander';
import { counted } from '../../base/counted.ts';
import { isOpen, type JobState, type RunState } from '../../journal/state.ts';
import { openPool } from '../../pool/open-pool.ts';
import { findJob, followRunStates, readRunState } from '../../run/run-states.ts';
import { requestStop } from '../../run/request-stop.ts';
import { describeState } from '../run-view/describe-job.ts';
import type { Cli } from '../cli.ts';
import { findRun, runAndJobs } from '../find-run.ts';
import { currentState, printTrouble, whileRefreshing } from '../run-view/current-state.ts';
import { askYesNo, nextCommands } from '../text/phrases.ts';

interface Options {
  yes?: true;
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  command
    .argument('[run]', 'folder, id or name of a run (default: the latest)')
    .argument('[job...]', 'jobs to stop (default: all)')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--json', 'print JSON')
    .action((run: string | undefined, jobs: string[], options: Options) =>
      stop(cli, runAndJobs([run, ...jobs]), options),
    );
}

async function stop(cli: Cli, words: ReturnType<typeof runAndJobs>, options: Options): Promise<void> {
  const { folder, argument } = await findRun(cli.cwd, words.run);
  const before = await currentState(cli, folder);
  const jobs = words.jobs.map((word) => findJob(before, word).id);
  const open = before.jobs.filter(isOpen).length;
  const what = `${jobs.length === 0 ? 'all jobs' : counted(jobs.length, 'job')} of ${path.basename(folder)}`;
  const question = `Stop ${what}? Running attempts end; their checkpoints stay for \`updraft retry\`.`;
  if (open > 0 && !options.yes && !options.json && (await askYesNo(cli, question)) === false) {
    cli.err('nothing was stopped\n');
    return;
  }
  const stopping = await requestStop(folder, before, jobs, cli.clock);
  if (stopping.length > 0) {
    cli.err(`stopping ${stopping.length} of ${counted(before.jobs.length, 'job')} ...\n`);
    await openPool(before.pool, cli).stop(folder, stopping);
  }
  const after = await whileRefreshing(cli, folder, () => waitUntilEnded(cli, folder, stopping));
  printStopped(cli, folder, after, stopping, options);
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
  return readRunState(folder);
}

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

function printStopped(
  cli: Cli,
  folder: string,
  state: RunState,
  asked: readonly string[],
  { json }: Options,
): void {
  const stopping = new Set(asked);
  const selected = state.jobs.filter(({ id }) => stopping.has(id));
  const stopped = selected.filter(({ outcome }) => outcome === 'stopped');
  const run = path.basename(folder);
  if (json) {
    const ids = [...stopped, ...selected.filter(isCleaning)].map(({ id }) => id);
    cli.out(`${JSON.stringify({ run, folder, stopped: ids, tally: state.tally })}\n`);
  } else if (selected.length === 0) {
    cli.err(`nothing to stop in ${run}: it has ended\n`);
  } else {
    const cleaning = selected.filter(isCleaning).length;
    const open = selected.filter(isOpen).length - cleaning;
    const others = selected.length - stopped.length - open - cleaning;
    const also = [
      ...(others > 0 ? [`; ${others} ended by ${others === 1 ? 'itself' : 'themselves'}`] : []),
      ...(open > 0 ? [`; ${open} ${open === 1 ? 'was' : 'were'} asked to end`] : []),
      ...(cleaning > 0 ? [`; ${cleaning} still removing files in the background`] : []),
    ];
    cli.out(`stopped ${counted(stopped.length + cleaning, 'job')} of ${run}${also.join('')}\n`);
  }
}
