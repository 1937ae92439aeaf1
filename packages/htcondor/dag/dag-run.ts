import { posix } from 'node:path';
import type { Dag, Dagman, DagNode } from './dag.ts';
import { type DagmanAccount, type DagmanEnd, DagmanLog, type NodeAccount } from './dagman-log.ts';
import type { DagRun } from './not-submitted.ts';
import type { ReadText } from './read-dag.ts';
import { newestRescue, readRescue } from './rescue.ts';

/** The files beside a DAG, named from its folder. */
export interface RunFiles {
  read: ReadText;
  /** The lines of a log of any size; none if it is not there. */
  lines: (name: string) => AsyncIterable<string> | Iterable<string>;
  /** The id of the DAGMan whose own log this is, and why it is held; undefined if it is not. */
  holdIn?: (name: string) => Promise<{ id: string; reason: string } | undefined>;
  shownAs: DagRun['shownAs'];
}

/** What DAGMan's `.dagman.out` and rescue files say of the latest run, for the DAG and its inner ones. */
export async function readDagRun(dag: Dag, { read, lines, holdIn, shownAs }: RunFiles): Promise<DagRun> {
  const accounts = new Map<string, NodeAccount>();
  const done = new Set<string>();
  let clusters: Map<number, string> | undefined;
  const ends = new Map<Dagman, DagmanEnd>();
  for (const dagman of dag.dagmans) {
    const log = new DagmanLog();
    for await (const line of lines(`${dagman.file}.dagman.out`)) log.add(line);
    const { account } = log;
    if (dagman.node === undefined && account.isThere) clusters = new Map();
    for (const [node, known] of account.nodes) {
      const { name } = nodeIn(dag, dagman, node) ?? {};
      if (name !== undefined) accounts.set(name, known);
    }
    for (const cluster of account.clusters) clusters?.set(cluster, shownAs(dagman.file));
    const hold = await holdIn?.(`${dagman.file}.dagman.log`);
    const end =
      hold === undefined
        ? account.end
        : { how: `is held: ${hold.reason}`, isNews: true, advice: `To continue: condor_release ${hold.id}` };
    if (end !== undefined) ends.set(dagman, end);
    for (const node of doneBefore(dag, dagman, done, account, read)) done.add(node);
  }
  return { dag, accounts, done, clusters, ends, shownAs };
}

/** A node as its DAGMan names it; of several DAG files that it runs together, it numbers the nodes: `0.A`, `1.A`. */
export const nodeIn = (dag: Dag, { prefix }: Dagman, name: string): DagNode | undefined =>
  dag.byName.get(prefix + name) ?? dag.byName.get(prefix + name.replace(/^0\./, ''));

/** The nodes that the latest run did not run again; without DAGMan's words, those of the newest rescue file. */
function doneBefore(
  dag: Dag,
  dagman: Dagman,
  done: ReadonlySet<string>,
  { isThere, rescue }: DagmanAccount,
  read: ReadText,
): string[] {
  if (dagman.node !== undefined && (dagman.node.done || done.has(dagman.node.name)))
    return dag.nodes.filter((node) => node.dagman === dagman).map(({ name }) => name);
  const own = rescue === undefined || posix.isAbsolute(rescue) ? rescue : posix.join(dagman.folder, rescue);
  const file = isThere ? own : newestRescue(dagman.file, (name) => read(name) !== undefined);
  const text = file === undefined ? undefined : read(file);
  return text === undefined ? [] : readRescue(file ?? '', text, dag, dagman).done.map(({ name }) => name);
}
