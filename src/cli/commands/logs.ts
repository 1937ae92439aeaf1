import path from 'node:path';
import type { Command } from 'commander';
import { Fault } from '../../fault/fault.ts';
import { attemptFiles, attemptFolder } from '../../job/layout.ts';
import type { JobState, RunState } from '../../journal/state.ts';
import { openPool } from '../../pool/open-pool.ts';
import { findJob, readRunState } from '../../run/run-states.ts';
import { findOutput } from '../adopt/find-output.ts';
import type { Cli } from '../cli.ts';
import { findRun, type FoundRun, runAndJobs } from '../find-run.ts';
import { whileRefreshing } from '../run-view/current-state.ts';
import { printLogs } from '../run-view/print-logs.ts';
import { maxInteger, integerOption } from '../submit/options.ts';
import { nextCommands } from '../text/phrases.ts';

interface Options {
  follow?: boolean;
  err?: boolean;
  attempt?: number;
}

export function configure(command: Command, cli: Cli): void {
  command
    .argument('[run]', 'folder, id or name of a run (default: the latest)')
    .argument('[job]', 'a job of the run, as 0003 or 3 (default: its only job)')
    .option('-f, --follow', 'follow the log, through later attempts, until the job ends')
    .option('--err', 'show stderr instead of stdout')
    .option('--attempt <number>', 'show this attempt (default: the latest)', integerOption(maxInteger))
    .action((first: string | undefined, second: string | undefined, options: Options) =>
      logs(cli, first, second, options),
    );
}

async function logs(
  cli: Cli,
  first: string | undefined,
  second: string | undefined,
  { follow = false, err = false, attempt }: Options,
): Promise<void> {
  const words = runAndJobs([first, second]);
  const run = await findRun(cli, words.run);
  const state = await readRunState(run.folder);
  const job = chooseJob(state, words.jobs[0], run);
  const number = attempt ?? job.attempts.at(-1)?.attempt;
  if (attempt !== undefined && !job.attempts.some((one) => one.attempt === attempt))
    throw new Fault('usage', `job ${job.id} has no attempt ${attempt}`, {
      about: job.id,
      fix: `leave out --attempt, or choose one of ${job.attempts.map((one) => one.attempt).join(', ') || '(none yet)'}`,
    });
  if (number === undefined && !follow) cli.err(`job ${job.id} has not started yet\n`);
  const stream = err ? 'err' : 'out';
  const pool = openPool(state.pool, cli);
  const live = () => pool.output(run.folder, job.id, stream, cli.signal);
  const fileOf = await fileNamer(cli, run.folder, job.id, stream);
  const choice = { runFolder: run.folder, job, from: number, follow, fileOf, live };
  if (follow) await whileRefreshing(cli, run.folder, () => printLogs(cli, choice));
  else await printLogs(cli, choice);
  nextCommands(cli, [
    !err && [`updraft logs ${run.argument} ${job.id} --err`, 'its stderr'],
    [`updraft status ${run.argument}`, 'the state of each job'],
  ]);
}

/** Where each attempt's output is: for an adopted run, where its submit file says. */
async function fileNamer(
  cli: Cli,
  folder: string,
  job: string,
  stream: 'out' | 'err',
): Promise<(attempt: number) => string> {
  const printed = await findOutput(cli.env, folder, job, stream);
  if (printed === 'nowhere') {
    const command = stream === 'out' ? 'output' : 'error';
    throw new Fault('usage', `the submit file sets no \`${command}\`: HTCondor did not keep it`, {
      about: job,
      fix: `for the next run, add: ${command} = job.$(Cluster).$(Process).${stream}`,
    });
  }
  if (printed !== 'with-the-attempt') return () => printed.file;
  return (attempt) => path.join(attemptFolder(folder, job, attempt), attemptFiles[stream]);
}

function chooseJob(state: RunState, word: string | undefined, run: FoundRun): JobState {
  if (word !== undefined) return findJob(state, word);
  const [only, ...others] = state.jobs;
  if (only !== undefined && others.length === 0) return only;
  const ids = `${only?.id ?? ''} to ${others.at(-1)?.id ?? ''}`;
  throw new Fault('usage', `the run has ${state.jobs.length} jobs, ${ids}: choose one`, {
    fix: `for example: updraft logs ${run.argument} ${only?.id ?? '0000'}`,
  });
}
