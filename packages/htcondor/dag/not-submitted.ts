import { posix } from 'node:path';
import type { ScriptTime } from './dag-command.ts';
import type { Dag, Dagman, DagNode } from './dag.ts';
import {
  type DagmanEnd,
  type FailedScript,
  type NodeAccount,
  type NodeState,
  type DagmanAccount,
  DagmanLog,
} from './dagman-log.ts';
import { type ReadText, newestRescue, readRescue } from './read-dag.ts';

/** A DAG with what is known of its latest run. */
export interface DagRun {
  dag: Dag;
  /** What each `.dagman.out` says of its nodes. */
  accounts: ReadonlyMap<string, NodeAccount>;
  /** Nodes that the rescue files of the latest run mark as done. */
  done: ReadonlySet<string>;
  /** The DAG file that submitted a cluster, as the logs were named; undefined without `.dagman.out`. */
  clusters: ReadonlyMap<number, string> | undefined;
  /** How DAGMans ended that do not run any more. */
  ends: ReadonlyMap<Dagman, DagmanEnd>;
  /** A file of the DAG as the logs were named. */
  shownAs: (file: string) => string;
}

/** The state of a node with several jobs: DAGMan needs all of them, and gives up at the first failure. */
export const worseState = (a: NodeState | undefined, b: NodeState): NodeState =>
  (['failed', 'removed', 'active'] as const).find((state) => a === state || b === state) ?? b;

/** Why the job of a node is in no log. */
export type NotSubmitted =
  /** Marked as DONE, or by a script: PRE by PRE_SKIP, or POST after PRE had failed. */
  | { why: 'done'; by?: ScriptTime }
  /** It needs none, and nothing that it waits for is known to hold it back. */
  | { why: 'noop' }
  /** By `.dagman.out` it has one, but that log was not read. */
  | ({ why: 'not-logged'; hold: NodeAccount['hold'] } & NonNullable<NodeAccount['job']>)
  | { why: 'pre-failed'; script: FailedScript }
  | { why: 'submit-failed'; text: string; at: string }
  /** `root`: the node that must be repaired first. */
  | { why: 'parent-failed'; root: DagNode; wasRemoved: boolean }
  | { why: 'not-yet'; waitsFor: DagNode | undefined; dagman: DagmanEnd | undefined };

/** What holds back the children of a node: the first node to repair, else one that has not ended. */
interface Blocker {
  failed?: DagNode;
  wasRemoved?: boolean;
  active?: DagNode;
}

/** Says why DAGMan has not submitted a node; `stateOf` is undefined for a node without jobs. */
export function notSubmittedReasons(
  run: DagRun,
  stateOf: (name: string) => NodeState | undefined,
): (node: DagNode) => NotSubmitted {
  const { graph, byIndex } = run.dag;
  /** Of each node, what it waits for, then what its children wait for: a node without a job passes it on. */
  const waits = graph.inherit<{ own: Blocker; passed: Blocker }>(
    (index, parents) => {
      const own = firstOf(parents.map(({ passed }) => passed));
      const node = byIndex[index];
      return { own, passed: node === undefined ? own : (blockerOf(run, node, stateOf(node.name)) ?? own) };
    },
    (parents) => {
      const passed = firstOf(parents.map((one) => one.passed));
      return { own: passed, passed };
    },
  );
  return (node) => {
    const { failed, active, wasRemoved = false } = waits.get(node.index)?.own ?? {};
    const own = ownReason(run, node);
    if (own !== undefined) return own;
    if (failed !== undefined) return { why: 'parent-failed', root: failed, wasRemoved };
    const dagman = run.ends.get(node.dagman);
    return node.noop && active === undefined && dagman === undefined
      ? { why: 'noop' }
      : { why: 'not-yet', waitsFor: active, dagman };
  };
}

function firstOf(blockers: readonly Blocker[]): Blocker {
  return (
    blockers.find(({ failed }) => failed !== undefined) ??
    blockers.find(({ active }) => active !== undefined) ??
    {}
  );
}

/** Undefined for a node that waits itself. */
function blockerOf(run: DagRun, node: DagNode, logged: NodeState | undefined): Blocker | undefined {
  const state = logged ?? stateOf(ownReason(run, node));
  if (state === undefined) return undefined;
  if (state === 'active') return { active: node };
  return state === 'done' ? {} : { failed: node, wasRemoved: state === 'removed' };
}

function stateOf(reason: NotSubmitted | undefined): NodeState | undefined {
  if (reason?.why === 'not-logged') return reason.state;
  if (reason?.why === 'done' || reason?.why === 'noop') return 'done';
  return reason && 'failed';
}

/** What is known of the node itself. */
function ownReason({ accounts, done }: DagRun, node: DagNode): NotSubmitted | undefined {
  if (node.done || done.has(node.name)) return { why: 'done' };
  const { scripts = [], submitError, job, hold, doneBy } = accounts.get(node.name) ?? {};
  if (job !== undefined)
    return node.noop && job.state === 'done' ? { why: 'noop' } : { why: 'not-logged', ...job, hold };
  if (doneBy !== undefined) return { why: 'done', by: doneBy };
  const script = scripts.findLast(({ when }) => when === 'PRE');
  if (script !== undefined) return { why: 'pre-failed', script };
  return submitError && { why: 'submit-failed', ...submitError };
}

/** Whether DAGMan counts the node as done, whatever its jobs did. */
export const isDoneAnyway = ({ accounts, done }: DagRun, name: string): boolean =>
  done.has(name) || accounts.get(name)?.doneBy !== undefined;

/** The same in words that follow the node's name: `its PRE script failed with status 4`. */
export function notSubmittedText(reason: NotSubmitted): string {
  switch (reason.why) {
    case 'done':
      if (reason.by === undefined) return 'it is marked as DONE';
      return `its ${reason.by} script ended it as done${reason.by === 'PRE' ? ' (PRE_SKIP)' : ''}`;
    case 'noop':
      return 'it is a NOOP node, which has no job';
    case 'not-logged':
      return `its job ${reason.how || 'was submitted'}; its log was not found`;
    case 'pre-failed':
      return `its PRE script ${reason.script.how}`;
    case 'submit-failed':
      return 'its job could not be submitted';
    case 'parent-failed':
      return `it waits for ${reason.root.name}, which ${reason.wasRemoved ? 'was removed' : 'failed'}`;
    case 'not-yet':
      if (reason.waitsFor !== undefined) return `it waits for ${reason.waitsFor.name}, which has not ended`;
      return `DAGMan ${reason.dagman?.how ?? 'has not reached it yet'}`;
  }
}

/** The files beside a DAG, named from its folder. */
interface RunFiles {
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
