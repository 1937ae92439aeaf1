import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { printable, shellQuote } from '@updraft/base';
import { isDag } from '@updraft/htcondor/dag';
import { type LogSource, logSources } from '@updraft/htcondor/eventlog';
import { Fault } from '@updraft/account/fault';
import type { Cli } from './cli.ts';
import { isRun, pathKind } from './find-run.ts';

/**
 * What the words of a command line name: event logs, then, in `rest`, a run or jobs. A log that stands alone may be a
 * DAG.
 */
export async function whatIsNamed(
  cli: Cli,
  words: readonly string[],
): Promise<{ dag: string | undefined; logs: string[]; rest: string[] }> {
  const isLog = await Promise.all(words.map((word) => namesLogs(cli, word)));
  const end = isLog.includes(false) ? isLog.indexOf(false) : words.length;
  const logs = words.slice(0, end);
  const [only = ''] = logs;
  const dag = logs.length === 1 && (await isDagFile(path.resolve(cli.cwd, only))) ? only : undefined;
  return { dag, logs, rest: words.slice(end) };
}

/** Whether a word names event logs: a file, `-`, or a folder that is not that of a run. */
async function namesLogs(cli: Cli, word: string): Promise<boolean> {
  if (word === '-') return true;
  const file = path.resolve(cli.cwd, word);
  const kind = await pathKind(file);
  return kind === 'folder' ? !(await isRun(file)) : kind === 'file';
}

/** Enough to recognize a DAG. */
const maxBeginning = 64 << 10;

/** Whether the command's argument is a DAG. */
export async function isDagFile(file: string): Promise<boolean> {
  // Reading a pipe would take its bytes from whoever reads it next, or block.
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() !== true) return false;
  await using handle = await open(file).catch(() => undefined);
  const read = await handle?.read(Buffer.alloc(maxBeginning));
  return isDag(file, read?.buffer.toString('utf8', 0, read.bytesRead) ?? '');
}

/** Refuses a path where there is nothing; any other word may be the name of a run. */
export async function refuseMissing(cli: Cli, word: string | undefined): Promise<void> {
  if (word === undefined || !/[./]/.test(word)) return;
  if ((await pathKind(path.resolve(cli.cwd, word))) !== undefined) return;
  throw new Fault('file-invalid', `there is no log or run ${printable(word)}`, {
    about: word,
    fix: 'name a run, or the event log of the jobs (`log` in their submit file)',
  });
}

/** The event logs that a command line names. */
export const namedLogs = (cli: Cli, words: readonly string[]): Promise<LogSource[]> =>
  logSources(words, { cwd: cli.cwd, stdin: () => cli.stdin(), now: cli.clock.now() });

/** The next commands repeat no more names than this. */
const maxNamed = 3;

/** The same logs for a suggested command. */
export const logsArgument = (words: readonly string[]): string =>
  words.length > maxNamed ? 'LOGS' : words.map(shellQuote).join(' ');
