import path from 'node:path';
import { open } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import type { Command } from 'commander';
import { type Clock, printableLines } from '@updraft/base';
import { waitForChange } from '@updraft/base/processes';
import { asFault, usageFault } from '@updraft/account/fault';
import { attemptFiles, attemptFolder, runFiles } from '@updraft/account/run-folder';
import type { JobState, RunState } from '@updraft/account/journal';
import { openPool } from '../../pool/open-pool.ts';
import { findJob, followRunStates, readRunState } from '../../run/run-states.ts';
import type { LivePage } from '../../job/live-page.ts';
import { type Cli, drawOut } from '../cli.ts';
import { addHelp } from '../help.ts';
import { findRun, type FoundRun, runAndJobs } from '../find-run.ts';
import { whileRefreshing } from '../run-view/current-state.ts';
import { integerOption, maxInteger } from '../submit/options.ts';
import { nextCommands } from '../text/phrases.ts';

interface Options {
  follow?: boolean;
  err?: boolean;
  attempt?: number;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'run-folder.md', [
    'updraft logs cifar10 3 -f  # job 0003, as it prints',
    'updraft logs 0003 --err    # stderr of a job of the latest run',
  ])
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
  { follow: isFollowed = false, err = false, attempt }: Options,
): Promise<void> {
  const words = runAndJobs([first, second]);
  const run = await findRun(cli, words.run);
  const state = await readRunState(run.folder);
  const job = chooseJob(state, words.jobs[0], run);
  const number = attempt ?? job.attempts.at(-1)?.number;
  if (attempt !== undefined && !job.attempts.some((one) => one.number === attempt))
    throw usageFault(
      `job ${job.id} has no attempt ${attempt}`,
      `leave out --attempt, or choose one of ${job.attempts.map((one) => one.number).join(', ') || '(none yet)'}`,
      job.id,
    );
  if (number === undefined && !isFollowed) cli.err(`job ${job.id} has not started yet\n`);
  const stream = err ? 'err' : 'out';
  const pool = openPool(state.pool, cli);
  const live = () => pool.output(run.folder, job.id, stream, cli.signal);
  const fileOf = (attempt: number): string =>
    path.join(attemptFolder(run.folder, job.id, attempt), attemptFiles[stream]);
  const choice = { runFolder: run.folder, job, from: number, fileOf, live };
  if (isFollowed) await whileRefreshing(cli, run.folder, () => follow(cli, choice));
  else if (number !== undefined) await printOnce(cli, choice, number);
  nextCommands(cli, [
    !err && [`updraft logs ${run.argument} ${job.id} --err`, 'its stderr'],
    [`updraft status ${run.argument}`, 'the state of each job'],
  ]);
}

function chooseJob(state: RunState, word: string | undefined, run: FoundRun): JobState {
  if (word !== undefined) return findJob(state, word);
  const [only, ...others] = state.jobs;
  if (only !== undefined && others.length === 0) return only;
  const ids = `${only?.id ?? ''} to ${others.at(-1)?.id ?? ''}`;
  throw usageFault(
    `the run has ${state.jobs.length} jobs, ${ids}: choose one`,
    `for example: updraft logs ${run.argument} ${only?.id ?? '0000'}`,
  );
}

const pollMs = 500;

interface LogChoice {
  runFolder: string;
  job: JobState;
  /** The first attempt to show; undefined when there is none yet. */
  from: number | undefined;
  /** The file with an attempt's output, once it has been returned. */
  fileOf: (attempt: number) => string;
  /** Asks the pool for the end of a running attempt's output on another machine, if it runs on one. */
  live: () => Promise<LivePage | undefined>;
}

async function printOnce(cli: Cli, { job, fileOf, live }: LogChoice, number: number): Promise<void> {
  const log = new AttemptLog(cli, fileOf(number));
  if (await log.printNew()) return;
  if (!isElsewhere(job, number)) return;
  const page = await live().catch((error: unknown) => {
    cli.signal.throwIfAborted();
    cli.err(`job ${job.id} is running, but its output is not available now: ${asFault(error).message}\n`);
    return undefined;
  });
  if (page !== undefined) log.printPage(page);
}

/** Prints a job's output until the job ends. */
async function follow(cli: Cli, choice: LogChoice): Promise<void> {
  const done = new AbortController();
  const signal = AbortSignal.any([cli.signal, done.signal]);
  let job = choice.job;
  const following = (async () => {
    for await (const state of followRunStates(choice.runFolder, { clock: cli.clock, signal }))
      job = state.jobs.find(({ id }) => id === choice.job.id) ?? job;
  })();
  try {
    await Promise.race([
      followAttempts(cli, choice, () => job),
      following.then(() => new Promise(() => undefined)),
    ]);
  } finally {
    done.abort();
    await following.catch(() => undefined);
  }
}

async function followAttempts(cli: Cli, choice: LogChoice, job: () => JobState): Promise<void> {
  const journal = path.join(choice.runFolder, runFiles.journal);
  const open = (number: number): AttemptLog => new AttemptLog(cli, choice.fileOf(number));
  const poll = livePoller(cli.clock, choice.live);
  let number = choice.from;
  let log = number === undefined ? undefined : open(number);
  for (;;) {
    // Checked before the log is read, so that the last output before the end is read too.
    const now = job();
    const next = now.attempts.find(({ number: attempt }) => attempt > (number ?? 0));
    const over = next !== undefined || now.status === 'ended';
    const isHere = await log?.printNew();
    if (next !== undefined) {
      number = next.number;
      log = open(number);
      cli.err(`--- attempt ${number} ---\n`);
      continue;
    }
    if (over) return;
    if (isHere === false && isElsewhere(now, number))
      await poll(
        (page) => log?.printPage(page) ?? false,
        (message) => cli.err(`its output is not available now: ${message}\n`),
      );
    const paths = log === undefined ? [journal] : [journal, log.path];
    await waitForChange(paths, pollMs, cli.clock, cli.signal);
  }
}

/** Whether the pool says that the attempt is running, so that its log may be on another machine. */
function isElsewhere({ status, attempts }: JobState, number: number | undefined): boolean {
  const last = attempts.at(-1);
  if (status !== 'running' || last === undefined || last.number !== number) return false;
  return last.endedAt === undefined && !['queued', 'fetching'].includes(last.pool?.phase ?? 'queued');
}

/** Each poll goes through the scheduler: frequent while there is new output, rare while there is none. */
const initialBackoffMs = 2_000;
const maxBackoffMs = 30_000;
/** An attempt that starts or ends may refuse a poll or two. */
const silentFailures = 3;

/**
 * Polls a running attempt's output at a pace that its pool can take. The returned function passes a page, when it is
 * due, to `show`, which returns whether it was new; a lasting failure to `reportFailure`, once.
 */
function livePoller(clock: Clock, ask: () => Promise<LivePage | undefined>) {
  let [nextAt, waitMs, failed] = [-Infinity, initialBackoffMs, 0];
  return async (
    show: (page: LivePage) => boolean,
    reportFailure: (message: string) => void,
  ): Promise<void> => {
    if (clock.monotonic() < nextAt) return;
    let isNew = false;
    try {
      const page = await ask();
      failed = 0;
      isNew = page !== undefined && show(page);
    } catch (error) {
      failed += 1;
      if (failed === silentFailures) reportFailure(asFault(error).message);
    }
    waitMs = isNew ? initialBackoffMs : Math.min(2 * waitMs, maxBackoffMs);
    nextAt = clock.monotonic() + waitMs;
  };
}

const chunkBytes = 1 << 16;

/** An attempt's output: every byte is shown once, wherever it comes from. */
class AttemptLog {
  /** Where it is once the attempt's folder has been returned. */
  readonly path: string;
  readonly #cli: Cli;
  readonly #decoder = new StringDecoder('utf8');
  #offset = 0;

  constructor(cli: Cli, path: string) {
    this.#cli = cli;
    this.path = path;
  }

  /** Shows the unseen part of the file; returns whether there is a file. */
  async printNew(): Promise<boolean> {
    await using handle = await open(this.path, 'r').catch(() => undefined);
    if (handle === undefined) return false;
    for (;;) {
      const buffer = Buffer.allocUnsafe(chunkBytes);
      const { bytesRead } = await handle.read(buffer, 0, chunkBytes, this.#offset);
      if (bytesRead === 0) return true;
      this.#print(buffer.subarray(0, bytesRead));
    }
  }

  /** The same from a page of the log; returns whether it had anything new. */
  printPage({ from, bytes }: LivePage): boolean {
    const end = from + bytes.length;
    if (end <= this.#offset) return false;
    if (from > this.#offset) {
      this.#cli.err(
        `--- ${from - this.#offset} bytes left out here: the full log comes when the attempt ends ---\n`,
      );
      this.#offset = from;
    }
    this.#print(bytes.subarray(this.#offset - from));
    return true;
  }

  #print(bytes: Buffer): void {
    this.#offset += bytes.length;
    const text = this.#decoder.write(bytes);
    drawOut(this.#cli, this.#cli.outIsTerminal ? printableLines(text) : text);
  }
}
