import type { Dag, DagNode } from './dag.ts';
import type { FailedScript, NodeAccount } from './dagman-log.ts';

/** A DAG with what is known of its latest run. */
export interface DagRun {
  dag: Dag;
  /** What each `.dagman.out` says of its nodes. */
  accounts: ReadonlyMap<string, NodeAccount>;
  /** Nodes that the rescue files of the latest run mark as done. */
  done: ReadonlySet<string>;
  /** A file of the DAG as the logs were named. */
  shownAs: (file: string) => string;
}

/** How a node that has jobs in the logs ended. */
export type NodeState = 'done' | 'failed' | 'active';

/** The state of a node with several jobs: DAGMan needs all of them, and gives up at the first failure. */
export const worseState = (a: NodeState | undefined, b: NodeState): NodeState =>
  (['failed', 'active'] as const).find((state) => a === state || b === state) ?? b;

/** Why the job of a node is in no log. */
export type NotSubmitted =
  | { why: 'done' }
  /** It needs none, and nothing that it waits for is known to hold it back. */
  | { why: 'noop' }
  /** By `.dagman.out` it has one, but that log was not read. */
  | { why: 'not-logged'; state: 'submitted' | 'succeeded' | 'failed'; how: string }
  | { why: 'pre-failed'; script: FailedScript }
  | { why: 'submit-failed'; text: string; at: string }
  /** `root`: the node that must be repaired first. */
  | { why: 'parent-failed'; root: DagNode }
  | { why: 'not-yet'; waitsFor: DagNode | undefined };

/** What holds back the children of a node: the first node to repair, else one that has not ended. */
interface Blocker {
  failed?: DagNode;
  active?: DagNode;
}

/** Says why DAGMan has not submitted a node; `stateOf` is undefined for a node without jobs. */
export function notSubmittedReasons(
  run: DagRun,
  stateOf: (name: string) => NodeState | undefined,
): (node: DagNode) => NotSubmitted {
  const { graph, byIndex } = run.dag;
  /** Of each node, what it waits for, and then what its children wait for: a node without a job passes on the former. */
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
    const { failed, active } = waits.get(node.index)?.own ?? {};
    const own = ownReason(run, node);
    if (own !== undefined) return own;
    if (failed !== undefined) return { why: 'parent-failed', root: failed };
    return node.noop && active === undefined ? { why: 'noop' } : { why: 'not-yet', waitsFor: active };
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
function blockerOf(run: DagRun, node: DagNode, state: NodeState | undefined): Blocker | undefined {
  if (state === 'failed') return { failed: node };
  if (state === 'active') return { active: node };
  if (state === 'done') return {};
  const reason = ownReason(run, node);
  if (reason?.why === 'not-logged' && reason.state === 'submitted') return { active: node };
  if (reason?.why === 'done' || (reason?.why === 'not-logged' && reason.state === 'succeeded')) return {};
  return reason === undefined ? undefined : { failed: node };
}

/** What is known of the node itself. */
function ownReason({ accounts, done }: DagRun, node: DagNode): NotSubmitted | undefined {
  if (node.done || done.has(node.name)) return { why: 'done' };
  const { scripts = [], submitError, job } = accounts.get(node.name) ?? {};
  const script = scripts.findLast(({ when }) => when === 'PRE');
  if (script !== undefined) return { why: 'pre-failed', script };
  if (submitError !== undefined) return { why: 'submit-failed', ...submitError };
  if (job !== undefined) return { why: 'not-logged', ...job };
  return undefined;
}

/** The same in words that follow the node's name: `its PRE script failed with status 4`. */
export function notSubmittedText(reason: NotSubmitted): string {
  switch (reason.why) {
    case 'done':
      return 'it is marked as DONE';
    case 'noop':
      return 'it is a NOOP node, which has no job';
    case 'not-logged':
      return `its job ${reason.how || 'was submitted'}, but its log was not found`;
    case 'pre-failed':
      return `its PRE script ${reason.script.how}`;
    case 'submit-failed':
      return 'its job could not be submitted';
    case 'parent-failed':
      return `it waits for ${reason.root.name}, which failed`;
    case 'not-yet':
      return reason.waitsFor === undefined
        ? 'DAGMan has not come to it'
        : `it waits for ${reason.waitsFor.name}, which has not ended`;
  }
}
