import path from 'node:path';
import type { Command } from 'commander';
import { isOpen, type RunState } from '../../journal/state.ts';
import { openPool } from '../../pool/open-pool.ts';
import { findJob, followRunStates, readRunState } from '../../run/run-states.ts';
import { requestStop } from '../../run/request-stop.ts';
import type { Cli } from '../cli.ts';
import { findRun, runAndJobs } from '../find-run.ts';
import { currentState, tellTrouble, whileRefreshing } from '../run-view/current-state.ts';
import { counted, isAgreed, nextCommands } from '../text/words.ts';

interface Options {
  yes?: true;
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  command
    .argument('[run]', 'folder, name or id of the run; the latest when it is left out')
    .argument('[job...]', 'jobs to stop; all when they are left out')
    .option('-y, --yes', 'do not ask')
    .option('--json', 'print what was stopped as JSON')
    .addHelpText('after', example)
    .action((run: string | undefined, jobs: string[], options: Options) =>
      stop(cli, runAndJobs([run, ...jobs]), options),
    );
}

async function stop(cli: Cli, words: ReturnType<typeof runAndJobs>, options: Options): Promise<void> {
  const { folder, argument } = await findRun(cli.cwd, words.run);
  const before = await currentState(cli, folder);
  const jobs = words.jobs.map((word) => findJob(before, word).id);
  const open = before.jobs.filter(isOpen).length;
  const what = `${jobs.length === 0 ? 'all jobs' : `${jobs.length} jobs`} of ${path.basename(folder)}`;
  const question = `Stop ${what}? Attempts that run now are lost.`;
  if (open > 0 && !options.yes && !options.json && (await isAgreed(cli, question)) === false) {
    cli.err('nothing was stopped\n');
    return;
  }
  const stopping = await requestStop(folder, before, jobs, cli.clock);
  if (stopping.length > 0) {
    cli.err(`stopping ${stopping.length} of ${before.jobs.length} jobs ...\n`);
    await openPool(before.pool, cli).stop(folder, stopping);
  }
  const after = await whileRefreshing(cli, folder, () => whenEnded(cli, folder, stopping));
  tell(cli, folder, after, stopping, options);
  tellTrouble(cli, after);
  nextCommands(cli, [
    [`updraft status ${argument}`, 'see how it stands'],
    [`updraft report ${argument}`, 'see where the time went'],
  ]);
}

async function whenEnded(cli: Cli, folder: string, jobs: readonly string[]): Promise<RunState> {
  const stopping = new Set(jobs);
  for await (const state of followRunStates(folder, { clock: cli.clock, signal: cli.signal }))
    // A log that is gone will not tell of the end.
    if (state.trouble !== undefined || hasEnded(state, stopping)) return state;
  return readRunState(folder);
}

const hasEnded = (state: RunState, stopping: ReadonlySet<string>): boolean =>
  state.jobs.every((job) => !isOpen(job) || !stopping.has(job.id));

function tell(cli: Cli, folder: string, state: RunState, asked: readonly string[], { json }: Options): void {
  const stopping = new Set(asked);
  const meant = state.jobs.filter(({ id }) => stopping.has(id));
  const stopped = meant.filter(({ outcome }) => outcome === 'stopped');
  const run = path.basename(folder);
  if (json) {
    cli.out(`${JSON.stringify({ run, folder, stopped: stopped.map(({ id }) => id), tally: state.tally })}\n`);
  } else if (meant.length === 0) {
    cli.err(`nothing to stop in ${run}: it has ended\n`);
  } else {
    const open = meant.filter(isOpen).length;
    const others = meant.length - stopped.length - open;
    const also = [
      ...(others > 0 ? [`; ${others} ended by ${others === 1 ? 'itself' : 'themselves'}`] : []),
      ...(open > 0 ? [`; ${open} ${open === 1 ? 'was' : 'were'} asked to end`] : []),
    ];
    cli.out(`stopped ${counted(stopped.length, 'job')} of ${run}${also.join('')}\n`);
  }
}

const example = `
Each attempt is asked to end, saves its checkpoint and cleans up; jobs that wait or are held leave the queue; one that does not end within half a minute is ended
by force. Stopping again changes nothing.

HTCondor deletes what it had saved of a job that is removed, its checkpoint too. To stop for a while and go on from there:
condor_hold ID, and later condor_release ID.

Examples:
  $ updraft stop                 the latest run
  $ updraft stop cifar10 0003    one job of the latest run of that name

Exit codes: 0 stopped, 2 wrong usage, 4 the pool does not answer.`;
