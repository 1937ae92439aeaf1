import { createReadStream } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { diskFiles } from '../../adopt/disk-files.ts';
import type { Dag, Dagman } from '../../dag/dag.ts';
import { DagmanLog, type DagmanAccount, type NodeAccount } from '../../dag/dagman-log.ts';
import { nodeLogs } from '../../dag/node-logs.ts';
import type { DagRun } from '../../dag/not-submitted.ts';
import { readDag, type ReadText } from '../../dag/read-dag.ts';
import { readRescue } from '../../dag/rescue.ts';
import { logSources } from '../../eventlog/log-sources.ts';
import type { LogSource } from '../../eventlog/scan-log.ts';
import { Fault } from '../../fault/fault.ts';
import type { Cli } from '../cli.ts';
import { pathKind } from '../find-run.ts';

/** A DAG with the logs of its nodes. */
export interface DagLogs {
  run: DagRun;
  logs: LogSource[];
}

/** Reads a DAG with its inner DAGs, each `.dagman.out`, and finds the logs that submit files name, and each `.nodes.log`. */
export async function readDagLogs(cli: Cli, word: string): Promise<DagLogs> {
  const file = path.resolve(cli.cwd, word);
  const [folder, name] = [path.dirname(file), path.basename(file)];
  const files = diskFiles(folder);
  const text = files.read(name);
  if (text === undefined)
    throw new Fault('file-invalid', `the DAG ${word} cannot be read`, {
      about: word,
      fix: 'name the file that you passed to condor_submit_dag',
    });
  const dag = readDag(name, text, (one) => files.read(one));
  if (dag.nodes.length === 0) throw notADag(word, dag);
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
  const accounts = new Map<string, NodeAccount>();
  const done = new Set<string>();
  for (const dagman of dag.dagmans) {
    const account = await readAccount(path.resolve(folder, `${dagman.file}.dagman.out`));
    for (const [node, known] of account?.nodes ?? []) accounts.set(dagman.prefix + node, known);
    for (const node of doneBefore(dag, dagman, done, (rescue) => files.read(rescue), account)) done.add(node);
  }
  return { run: { dag, accounts, done, shownAs }, logs };
}

/** The nodes that the latest run did not run again. */
function doneBefore(
  dag: Dag,
  dagman: Dagman,
  done: ReadonlySet<string>,
  read: ReadText,
  account: DagmanAccount | undefined,
): string[] {
  if (dagman.node !== undefined && (dagman.node.done || done.has(dagman.node.name)))
    return dag.nodes.filter((node) => node.dagman === dagman).map(({ name }) => name);
  const { rescue } = account ?? {};
  const file = rescue === undefined ? undefined : inFolder(dagman.folder, rescue);
  const text = file === undefined ? undefined : read(file);
  return file === undefined || text === undefined
    ? []
    : readRescue(file, text, dag, dagman).done.map(({ name }) => name);
}

const inFolder = (folder: string, file: string): string =>
  path.isAbsolute(file) ? file : path.join(folder, file);

function notADag(word: string, { problems: [first] }: Dag): Fault {
  return new Fault('file-invalid', `${word} has no node${first === undefined ? '' : `: ${first.message}`}`, {
    about: word,
    fix: 'name the file that you passed to condor_submit_dag',
  });
}

async function readAccount(file: string): Promise<DagmanAccount | undefined> {
  if ((await pathKind(file)) !== 'file') return undefined;
  const log = new DagmanLog();
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity }))
    log.add(line);
  return log.account;
}
