import path from 'node:path';
import { waitForChange } from '../base/wait-for-change.ts';
import { asFault } from '../fault/fault.ts';
import { runFiles } from '../job/layout.ts';
import type { LivePage } from '../job/live-page.ts';
import type { JobState } from '../journal/state.ts';
import { followRunStates } from '../run/run-states.ts';
import { AttemptLog } from './attempt-log.ts';
import type { Cli } from './cli.ts';
import { LiveLooks } from './live-looks.ts';

const lookMillis = 500;

export interface LogChoice {
  runFolder: string;
  job: JobState;
  /** The first attempt to show; undefined when there is none yet. */
  from: number | undefined;
  follow: boolean;
  /** The file in which an attempt's output is, once it is here. */
  fileOf: (attempt: number) => string;
  /** Asks the pool for the end of what a running attempt of the job prints on another machine, where it runs on one. */
  live: () => Promise<LivePage | undefined>;
}

/** Prints what a job's training printed; with `follow`, until the job ends. */
export async function showLogs(cli: Cli, choice: LogChoice): Promise<void> {
  if (choice.follow) await follow(cli, choice);
  else if (choice.from !== undefined) await showOnce(cli, choice, choice.from);
}

async function showOnce(cli: Cli, { job, fileOf, live }: LogChoice, number: number): Promise<void> {
  const log = new AttemptLog(cli, fileOf(number));
  if (await log.showNew()) return;
  if (!isAway(job, number)) return;
  const page = await live().catch((error: unknown) => {
    cli.signal.throwIfAborted();
    cli.err(`job ${job.id} runs, but what it prints cannot be seen now: ${asFault(error).message}\n`);
    return undefined;
  });
  if (page !== undefined) log.showPage(page);
}

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
  const looks = new LiveLooks(cli.clock, choice.live);
  let number = choice.from;
  let log = number === undefined ? undefined : open(number);
  for (;;) {
    // Asked before the log is read: what the attempt printed before it ended is then read, too.
    const now = job();
    const next = now.attempts.find(({ attempt }) => attempt > (number ?? 0));
    const over = next !== undefined || now.status === 'ended';
    const isHere = await log?.showNew();
    if (next !== undefined) {
      number = next.attempt;
      log = open(number);
      cli.err(`--- attempt ${number} ---\n`);
      continue;
    }
    if (over) return;
    if (isHere === false && isAway(now, number))
      await looks.look(
        (page) => log?.showPage(page) ?? false,
        (message) => cli.err(`what it prints cannot be seen now: ${message}\n`),
      );
    const paths = log === undefined ? [journal] : [journal, log.path];
    await waitForChange(paths, lookMillis, cli.clock, cli.signal);
  }
}

/** Whether the attempt runs, as far as its pool has told, so that its log may be on another machine. */
function isAway({ status, attempts }: JobState, number: number | undefined): boolean {
  const last = attempts.at(-1);
  if (status !== 'running' || last === undefined || last.attempt !== number) return false;
  return last.endedAt === undefined && !['queued', 'fetching'].includes(last.pool?.phase ?? 'queued');
}
