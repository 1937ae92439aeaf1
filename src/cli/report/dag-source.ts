import { createReadStream } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { diskFiles } from '@updraft/htcondor/submit';
import { printable } from '@updraft/base';
import { type DagRun, nodeLogs, readDag, readDagRun } from '@updraft/htcondor/dag';
import { logFile, type LogSource, logSources } from '@updraft/htcondor/eventlog';
import { readHistory } from '@updraft/account/history';
import { notADag } from '../adopt/adopt-dag.ts';
import type { Cli } from '../cli.ts';
import { pathKind } from '../find-run.ts';

/** A DAG with the logs of its nodes. */
export interface DagLogs {
  run: DagRun;
  logs: LogSource[];
}

/** Reads a DAG with its inner DAGs and each `.dagman.out`; finds the logs that submit files name, and `.nodes.log`s. */
export async function readDagLogs(cli: Cli, word: string): Promise<DagLogs> {
  const file = path.resolve(cli.cwd, word);
  const [folder, name] = [path.dirname(file), path.basename(file)];
  const files = diskFiles(folder);
  const read = (one: string): string | undefined => files.read(one);
  const text = read(name);
  if (text === undefined) throw notADag(`the DAG ${printable(word)} cannot be read`, word);
  const dag = readDag(name, text, read);
  const [problem] = dag.problems;
  if (dag.nodes.length === 0)
    throw notADag(
      `${printable(word)} has no node${problem === undefined ? '' : `: ${problem.message}`}`,
      word,
    );
  const shownAs = (one: string): string => (path.isAbsolute(one) ? one : path.join(path.dirname(word), one));
  const named = nodeLogs(dag, { files, env: cli.env, now: new Date(cli.clock.now()) });
  const shown = [...named, ...dag.dagmans.map((one) => `${one.file}.nodes.log`)].map(shownAs);
  const found = await Promise.all(shown.map((log) => pathKind(path.resolve(cli.cwd, log))));
  const sources = await logSources(
    shown.filter((_, index) => found[index] === 'file'),
    { cwd: cli.cwd },
  );
  // A node's name says enough: its log need not be named.
  const logs = sources.map((source) => ({ ...source, partOf: word }));
  const lines = (one: string): AsyncIterable<string> => linesOf(path.resolve(folder, one));
  const holdIn = async (one: string) => {
    const log = await logFile(path.resolve(folder, one)).catch(() => undefined);
    const jobs = log === undefined ? [] : (await readHistory([log], { signal: cli.signal })).jobs;
    const { id = '', outcome, reason = 'its log does not say why' } = jobs.at(-1) ?? {};
    return outcome === 'held' ? { id, reason: reason.replace(/\.$/, '') } : undefined;
  };
  return { run: await readDagRun(dag, { read, lines, holdIn, shownAs }), logs };
}

async function* linesOf(file: string): AsyncGenerator<string, void, void> {
  if ((await pathKind(file)) === 'file')
    yield* createInterface({ input: createReadStream(file), crlfDelay: Infinity });
}
