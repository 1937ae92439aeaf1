import { type Dag, type DagNode, parentsIn } from './dag.ts';
import type { DagmanAccount, FailedScript } from './dagman-log.ts';

/** A DAG with what is known of its latest run. */
export interface DagRun {
  dag: Dag;
  /** What `.dagman.out` says; undefined without that file. */
  account: DagmanAccount | undefined;
  /** Nodes that the rescue file of the latest run marks as done. */
  done: ReadonlySet<string>;
}

/** How a node that has jobs in the logs ended. */
export type NodeState = 'done' | 'failed' | 'active';

/** Why the job of a node is in no log. */
export type NotSubmitted =
  | { why: 'done' }
  | { why: 'pre-failed'; script: FailedScript }
  | { why: 'submit-failed'; text: string; at: string }
  /** `root`: the node that must be repaired first. */
  | { why: 'parent-failed'; root: DagNode }
  | { why: 'not-yet'; waitsFor: DagNode | undefined };

/** Why DAGMan has not submitted a node; `stateOf` is undefined for a node without jobs. */
export function whyNotSubmitted(
  run: DagRun,
  node: DagNode,
  stateOf: (name: string) => NodeState | undefined,
): NotSubmitted {
  const own = ownReason(run, node);
  if (own !== undefined) return own;
  // Upwards, nearest first: a parent without a job waits for its own parents.
  const seen = new Set([node]);
  let waitsFor: DagNode | undefined;
  for (const next of seen)
    for (const parent of parentsIn(run.dag, next)) {
      const state = stateOf(parent.name);
      if (seen.has(parent) || state === 'done') continue;
      const reason = state === undefined ? ownReason(run, parent) : undefined;
      if (state === 'failed' || (reason !== undefined && reason.why !== 'done'))
        return { why: 'parent-failed', root: parent };
      if (state === 'active') waitsFor ??= parent;
      else if (reason === undefined) seen.add(parent);
    }
  return { why: 'not-yet', waitsFor };
}

/** What is known of the node itself. */
function ownReason({ account, done }: DagRun, node: DagNode): NotSubmitted | undefined {
  if (node.done || done.has(node.name)) return { why: 'done' };
  const { scripts = [], submitError } = account?.nodes.get(node.name) ?? {};
  const script = scripts.findLast(({ when }) => when === 'PRE');
  if (script !== undefined) return { why: 'pre-failed', script };
  if (submitError !== undefined) return { why: 'submit-failed', ...submitError };
  return undefined;
}

/** The same in words that follow the node's name: `its PRE script failed with status 4`. */
export function notSubmittedText(reason: NotSubmitted): string {
  switch (reason.why) {
    case 'done':
      return 'it is marked as DONE';
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
