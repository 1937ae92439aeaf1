import { posix } from 'node:path';
import type { Dag, Dagman } from './dag.ts';
import { DagmanLog, type DagmanAccount, type NodeAccount } from './dagman-log.ts';
import type { DagRun } from './not-submitted.ts';
import type { ReadText } from './read-dag.ts';
import { readRescue } from './rescue.ts';

/** The files beside a DAG, named from its folder. */
export interface RunFiles {
  read: ReadText;
  /** The lines of a log of any size; none if it is not there. */
  lines: (name: string) => AsyncIterable<string> | Iterable<string>;
  shownAs: DagRun['shownAs'];
}

/** What DAGMan's `.dagman.out` and rescue files say of the latest run, for the DAG and its inner ones. */
export async function readDagRun(dag: Dag, { read, lines, shownAs }: RunFiles): Promise<DagRun> {
  const accounts = new Map<string, NodeAccount>();
  const done = new Set<string>();
  for (const dagman of dag.dagmans) {
    const log = new DagmanLog();
    for await (const line of lines(`${dagman.file}.dagman.out`)) log.add(line);
    for (const [node, known] of log.account.nodes) accounts.set(dagman.prefix + node, known);
    for (const node of doneBefore(dag, dagman, done, log.account, read)) done.add(node);
  }
  return { dag, accounts, done, shownAs };
}

/** The nodes that the latest run did not run again. */
function doneBefore(
  dag: Dag,
  dagman: Dagman,
  done: ReadonlySet<string>,
  { rescue }: DagmanAccount,
  read: ReadText,
): string[] {
  if (dagman.node !== undefined && (dagman.node.done || done.has(dagman.node.name)))
    return dag.nodes.filter((node) => node.dagman === dagman).map(({ name }) => name);
  if (rescue === undefined) return [];
  const file = posix.isAbsolute(rescue) ? rescue : posix.join(dagman.folder, rescue);
  const text = read(file);
  return text === undefined ? [] : readRescue(file, text, dag, dagman).done.map(({ name }) => name);
}
