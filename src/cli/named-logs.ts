import path from 'node:path';
import { printable } from '@updraft/base';
import { type LogSource, logSources } from '@updraft/htcondor/eventlog';
import { Fault } from '../fault/fault.ts';
import type { Cli } from './cli.ts';
import { isRun, pathKind } from './find-run.ts';

/** Whether an argument names event logs: a file, `-`, or a folder that is not that of a run. */
export async function namesLogs(cli: Cli, word: string): Promise<boolean> {
  if (word === '-') return true;
  const file = path.resolve(cli.cwd, word);
  const kind = await pathKind(file);
  return kind === 'folder' ? !(await isRun(file)) : kind === 'file';
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
  logSources(words, { cwd: cli.cwd, stdin: () => cli.stdin(), now: cli.clock.now(), signal: cli.signal });
