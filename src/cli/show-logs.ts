import { open } from 'node:fs/promises';
import path from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { printableLines } from '../base/printable.ts';
import { waitForChange } from '../base/wait-for-change.ts';
import { attemptFiles, attemptFolder, runFiles } from '../job/layout.ts';
import type { JobState } from '../journal/state.ts';
import type { Cli } from './cli.ts';
import { followRunStates } from '../run/run-states.ts';

const chunkBytes = 1 << 16;
const lookMillis = 500;

export interface LogChoice {
  runFolder: string;
  job: string;
  /** The first attempt to show; undefined when there is none yet. */
  from: number | undefined;
  follow: boolean;
  err: boolean;
}

/** Prints what a job's training printed; with `follow`, until the job ends. */
export async function showLogs(cli: Cli, choice: LogChoice): Promise<void> {
  if (!choice.follow) {
    if (choice.from !== undefined) await logOf(cli, choice, choice.from).showNew();
    return;
  }
  const done = new AbortController();
  const signal = AbortSignal.any([cli.signal, done.signal]);
  let job: JobState | undefined;
  const following = (async () => {
    for await (const state of followRunStates(choice.runFolder, { clock: cli.clock, signal }))
      job = state.jobs.find(({ id }) => id === choice.job);
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

async function followAttempts(cli: Cli, choice: LogChoice, job: () => JobState | undefined): Promise<void> {
  const journal = path.join(choice.runFolder, runFiles.journal);
  let number = choice.from;
  let log = number === undefined ? undefined : logOf(cli, choice, number);
  for (;;) {
    // Asked before the log is read: what the attempt printed before it ended is then read, too.
    const now = job();
    const next = now?.attempts.find(({ attempt }) => attempt > (number ?? 0));
    const over = next !== undefined || now?.status === 'ended';
    await log?.showNew();
    if (next !== undefined) {
      number = next.attempt;
      log = logOf(cli, choice, number);
      cli.err(`--- attempt ${number} ---\n`);
    } else if (over) return;
    else
      await waitForChange(
        log === undefined ? [journal] : [journal, log.path],
        lookMillis,
        cli.clock,
        cli.signal,
      );
  }
}

interface Log {
  path: string;
  /** Prints what was added since the last time. */
  showNew(): Promise<void>;
}

function logOf(cli: Cli, { runFolder, job, err }: LogChoice, attempt: number): Log {
  const folder = attemptFolder(runFolder, job, attempt);
  const file = path.join(folder, err ? attemptFiles.err : attemptFiles.out);
  const decoder = new StringDecoder('utf8');
  let offset = 0;
  const showNew = async () => {
    const handle = await open(file, 'r').catch(() => undefined);
    if (handle === undefined) return;
    try {
      for (;;) {
        const { bytesRead, buffer } = await handle.read(
          Buffer.allocUnsafe(chunkBytes),
          0,
          chunkBytes,
          offset,
        );
        if (bytesRead === 0) return;
        offset += bytesRead;
        const text = decoder.write(buffer.subarray(0, bytesRead));
        cli.out(cli.outIsTerminal ? printableLines(text) : text);
      }
    } finally {
      await handle.close();
    }
  };
  return { path: file, showNew };
}
