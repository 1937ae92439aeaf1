import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { defined } from '../../base/defined.ts';
import { printable } from '../../base/printable.ts';
import type { DagRun } from '../../dag/not-submitted.ts';
import { logSources } from '../../eventlog/log-sources.ts';
import type { LogSource } from '../../eventlog/scan-log.ts';
import { Fault } from '../../fault/fault.ts';
import type { RunContext } from '../../history/run-jobs.ts';
import type { RunState } from '../../journal/state.ts';
import { poolKind } from '../../pool/open-pool.ts';
import { readPlan } from '../../pool/read-plan.ts';
import { type ReadLogs, readLogs } from '../../report/read-logs.ts';
import { readRun } from '../../report/read-run.ts';
import { readValid } from '../../report/validity.ts';
import { readRunState } from '../../run/run-states.ts';
import type { Cli } from '../cli.ts';
import { findRun, type FoundRun, pathKind } from '../find-run.ts';
import { isDagFile } from '../adopt/dag-file.ts';
import { namedLogs, namesLogs } from '../named-logs.ts';
import { readDagLogs } from './dag-source.ts';

/** What a report is about: an Updraft run, or any event logs. */
export type ReportSource = { run: FoundRun } | { logs: LogSource[]; named: readonly string[]; dag?: DagRun };

/** Arguments that are files, pipes, `-` or folders with logs are logs; any other argument names a run. */
export async function reportSource(cli: Cli, words: readonly string[]): Promise<ReportSource> {
  const [only, ...others] = words;
  if (only !== undefined && others.length === 0 && (await isDagFile(path.resolve(cli.cwd, only)))) {
    const { run, logs } = await readDagLogs(cli, only);
    return { logs, named: words, dag: run };
  }
  const isLog = await Promise.all(words.map((word) => namesLogs(cli, word)));
  if (words.length > 0 && isLog.every(Boolean)) return { logs: await namedLogs(cli, words), named: words };
  const [word] = words;
  if (words.length > 1)
    throw new Fault('usage', `${printable(words[isLog.indexOf(false)] ?? '')} is not an event log`, {
      fix: 'name one run, or any number of event logs, or two of either after --compare',
    });
  if (word !== undefined && /[./]/.test(word) && (await pathKind(path.resolve(cli.cwd, word))) === undefined)
    throw new Fault('file-invalid', `no log or run ${printable(word)}`, {
      about: word,
      fix: 'name the event log of your jobs (`log` in their submit file)',
    });
  return { run: await findReportRun(cli, word) };
}

/** A user without runs may have an event log. */
async function findReportRun(cli: Cli, word: string | undefined): Promise<FoundRun> {
  try {
    return await findRun(cli.cwd, word);
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'usage' || word !== undefined) throw error;
    const fix = 'for HTCondor jobs, name their event log: updraft report my.log';
    throw new Fault('usage', error.message, { fix, cause: error });
  }
}

/** The options that decide which results are valid. */
interface ValidityOptions {
  valid?: string;
  invalid?: string;
}

export async function readSource(
  cli: Cli,
  source: ReportSource,
  validity: ValidityOptions,
): Promise<ReadLogs> {
  const { valid, invalid } = validity;
  if ('run' in source) {
    if (valid !== undefined || invalid !== undefined)
      throw new Fault('usage', 'Updraft checks the results of a run itself', {
        fix: 'use --valid and --invalid only with event logs',
      });
    const { folder } = source.run;
    const state = await readRunState(folder);
    return readRun(folder, state, await runContext(folder, state));
  }
  return readLogs(
    source.logs,
    defined({
      signal: cli.signal,
      dag: source.dag,
      valid: valid === undefined ? undefined : readValid(valid),
      invalid: invalid === undefined ? undefined : await readNames(cli, invalid),
    }),
  );
}

/** Comma-separated names, or a file with them. */
async function readNames(cli: Cli, list: string): Promise<Set<string>> {
  const file = path.resolve(cli.cwd, list);
  const text = (await pathKind(file)) === 'file' ? await readFile(file, 'utf8') : list;
  return new Set(text.split(/[\s,]+/).filter((name) => name !== ''));
}

/** Its name in a heading. */
export function sourceName(source: ReportSource): string {
  if ('run' in source) return path.basename(source.run.folder);
  const [first = '', ...more] = source.named.map((log) => (log === '-' ? 'stdin' : path.basename(log)));
  return more.length === 0 ? first : `${first} and ${more.length} more`;
}

/** What a run's folder has besides its journals. A copy may lack any of it; then the report has less. */
export async function runContext(folder: string, { pool }: RunState): Promise<RunContext> {
  const plan = await readPlan(folder).catch(() => undefined);
  const log = poolKind(pool)?.eventLog;
  const read = log && (await readRunLog(path.join(folder, log)).catch(() => undefined));
  return {
    requestedMemoryBytes: plan?.spec.resources.memoryBytes,
    logged: read ? read.jobs : undefined,
  };
}

const readRunLog = async (log: string): Promise<ReadLogs> => readLogs(await logSources([log]));
