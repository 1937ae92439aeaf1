import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { defined, findProgram, firstFew, printable } from '@updraft/base';
import type { DagRun } from '@updraft/htcondor/dag';
import type { LogSource } from '@updraft/htcondor/eventlog';
import { Fault, usageFault } from '@updraft/account/fault';
import { mergeReads, type ReadLogs, readLogs, readRun, readValid } from '@updraft/account/report';
import { readRunState } from '../../run/run-states.ts';
import type { Cli } from '../cli.ts';
import { findRun, type FoundRun, pathKind } from '../find-run.ts';
import { outputOf } from '../../preflight/ask-python.ts';
import { namedLogs, refuseMissing, whatIsNamed } from '../named-logs.ts';
import { readDagLogs } from './dag-source.ts';

/** What a report is about: an Updraft run, or any event logs; or several of either, each read by itself. */
export type ReportSource = OneSource | { several: { name: string; source: OneSource }[] };
type OneSource = { run: FoundRun } | { logs: LogSource[]; named: readonly string[]; dag?: DagRun };

/** Arguments that are files, pipes, `-` or folders with logs are logs; any other argument names a run. */
export async function reportSource(cli: Cli, words: readonly string[]): Promise<ReportSource> {
  const { dag, rest } = await whatIsNamed(cli, words);
  if (words.length > 1 && rest.length > 0) return separateSources(cli, words);
  if (words.length === 0 || rest.length > 0) return { run: await oneRun(cli, words[0]) };
  if (dag === undefined) return { logs: await namedLogs(cli, words), named: words };
  const { run, logs } = await readDagLogs(cli, dag);
  return { logs, named: words, dag: run };
}

/** Each argument by itself, such as to compare them. */
export async function separateSources(cli: Cli, words: readonly string[]): Promise<ReportSource> {
  const several: { name: string; source: OneSource }[] = [];
  for (const word of words) {
    const source = await reportSource(cli, [word]);
    if ('several' in source) continue;
    const name = 'run' in source ? path.basename(source.run.folder) : word;
    if (several.some((other) => other.name === name))
      throw usageFault(`${printable(name)} is named twice`, 'name each once', word);
    several.push({ name, source });
  }
  return { several };
}

/** A user without runs may have an event log. */
async function oneRun(cli: Cli, word: string | undefined): Promise<FoundRun> {
  await refuseMissing(cli, word);
  try {
    return await findRun(cli, word);
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'usage' || word !== undefined) throw error;
    const fix = 'for HTCondor jobs, name their event log: updraft report my.log';
    throw new Fault('usage', error.message, { fix, cause: error });
  }
}

export async function readSource(
  cli: Cli,
  source: ReportSource,
  validity: { valid?: string; invalid?: string; wantsOwners?: boolean },
): Promise<ReadLogs> {
  const { valid, invalid, wantsOwners = false } = validity;
  if ('several' in source) {
    const read = await Promise.all(source.several.map((one) => readSource(cli, one.source, validity)));
    return mergeReads(source.several.map(({ name }, index) => ({ name, read: read[index] })));
  }
  if ('run' in source) {
    if (valid !== undefined || invalid !== undefined)
      throw usageFault(
        'Updraft checks the results of a run itself',
        'use --valid and --invalid only with event logs',
      );
    const { folder } = source.run;
    return readRun(folder, await readRunState(folder));
  }
  return readLogs(
    source.logs,
    defined({
      signal: cli.signal,
      dag: source.dag,
      fileOwners: wantsOwners ? await fileOwners(cli, source.logs) : undefined,
      valid: valid === undefined ? undefined : readValid(valid),
      invalid: invalid === undefined ? undefined : await readNames(cli, invalid),
    }),
  );
}

/** Asking a site's directory of users may take a while. */
const directoryMs = 5000;

/** Who owns the files of logs, by log. Files of root and of the reader may be copies, which say nothing. */
async function fileOwners(cli: Cli, logs: readonly LogSource[]): Promise<Map<string, string>> {
  const others = logs.flatMap(({ name, partOf = name, uid = 0 }) =>
    uid === 0 || uid === cli.uid ? [] : [{ log: partOf, uid: String(uid) }],
  );
  const uids = [...new Set(others.map(({ uid }) => uid))];
  const program = uids.length === 0 ? undefined : await findProgram(['getent'], cli.env);
  // It fails if it does not know one of them, and prints the others.
  const options = { timeoutMs: directoryMs, anyStatus: true };
  const known = program === undefined ? '' : await outputOf(cli, program, ['passwd', ...uids], options);
  const names = new Map(known.split('\n').map((line) => [line.split(':')[2], line.split(':')[0]]));
  return new Map(others.map(({ log, uid }) => [log, names.get(uid) ?? `uid ${uid}`]));
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
  const names = 'several' in source ? source.several.map(({ name }) => name) : source.named;
  const shown = names.map((log) => (log === '-' ? 'stdin' : path.basename(log)));
  return firstFew(shown, 1);
}
