import type { DagNode } from '../dag/dag.ts';
import { parentsIn } from '../dag/dag.ts';
import { type DagRun, type NodeState, notSubmittedText, whyNotSubmitted } from '../dag/not-submitted.ts';
import type { JobHistory } from '../history/history.ts';
import { lossColumns, slotColumns, sumOver } from './columns.ts';
import type { JobRow, RowOutcome } from './ledger.ts';

/** The nodes of a DAG: which cost most, which decided how long it took, and which have no job. */
export interface NodeReport {
  /** The most expensive first. */
  costs: NodeCost[];
  /** From the first node to the last to end; empty without the DAG file. */
  criticalPath: PathStep[];
  /** PRE, POST and HOLD scripts that failed in the latest run. */
  scripts: { node: string; script: string; how: string }[];
  /** By reason. */
  notSubmitted: { why: string; nodes: string[] }[];
  /** Nodes that DAGMan tried again. */
  retried: { node: string; retries: number }[];
}

export interface NodeCost {
  node: string;
  outcome: RowOutcome;
  attempts: number;
  slotSeconds: number;
  lostSeconds: number;
}

export interface PathStep {
  node: string;
  /** When its last parent had ended, or when the DAG began. */
  readyAt: string;
  /** Until it was done, but not on a slot: scripts, submission, queue, retries. */
  waitSeconds: number;
  slotSeconds: number;
}

interface NodeTimes extends NodeCost {
  from: number;
  to: number;
}

/** Null if no job is a node. Without `run` there are only costs. */
export function nodeReport(
  jobs: readonly JobHistory[],
  rows: readonly JobRow[],
  run: DagRun | undefined,
): NodeReport | null {
  const times = timesOf(jobs, rows);
  if (times.size === 0 && run === undefined) return null;
  const costs = [...times.values()]
    .map(({ node, outcome, attempts, slotSeconds, lostSeconds }) => ({
      ...{ node, outcome, attempts },
      ...{ slotSeconds, lostSeconds },
    }))
    .sort((a, b) => b.slotSeconds - a.slotSeconds);
  return {
    costs,
    criticalPath: run === undefined ? [] : criticalPath(run, times),
    scripts: [...(run?.account?.nodes ?? [])].flatMap(([node, { scripts }]) =>
      scripts.map(({ when, how }) => ({ node, script: when, how })),
    ),
    notSubmitted: run === undefined ? [] : notSubmitted(run, times),
    retried: retriedNodes(run, costs),
  };
}

/** A node has several jobs if its submit file queues several, or if it ran again after a success. */
function timesOf(jobs: readonly JobHistory[], rows: readonly JobRow[]): Map<string, NodeTimes> {
  const times = new Map<string, NodeTimes>();
  for (const [index, { node, from, to }] of jobs.entries()) {
    const row = rows[index];
    if (node === undefined || row === undefined) continue;
    const known = times.get(node);
    const [slot, lost] = [sumOver(row.millis, slotColumns) / 1000, sumOver(row.millis, lossColumns) / 1000];
    times.set(node, {
      node,
      outcome: worse(known?.outcome, row.outcome),
      attempts: (known?.attempts ?? 0) + row.attempts.length,
      slotSeconds: (known?.slotSeconds ?? 0) + slot,
      lostSeconds: (known?.lostSeconds ?? 0) + lost,
      from: Math.min(known?.from ?? from, from),
      to: Math.max(known?.to ?? to, to),
    });
  }
  return times;
}

const isGood = (outcome: RowOutcome | undefined): boolean =>
  outcome === undefined || outcome === 'success' || outcome === 'suspicious';

const worse = (before: RowOutcome | undefined, now: RowOutcome): RowOutcome =>
  isGood(now) && before !== undefined && !isGood(before) ? before : now;

function stateOf(times: ReadonlyMap<string, NodeTimes>): (name: string) => NodeState | undefined {
  return (name) => {
    const outcome = times.get(name)?.outcome;
    if (outcome === undefined) return undefined;
    if (isGood(outcome)) return 'done';
    return outcome === 'running' || outcome === 'waiting' || outcome === 'held' ? 'active' : 'failed';
  };
}

/** Backwards from the node that ended last, each time to the parent that ended last. */
function criticalPath({ dag }: DagRun, times: ReadonlyMap<string, NodeTimes>): PathStep[] {
  if (dag.graph.cycle() !== undefined) return [];
  const began = Math.min(...[...times.values()].map(({ from }) => from));
  const latest = (nodes: readonly DagNode[]): NodeTimes | undefined =>
    nodes.reduce<NodeTimes | undefined>((last, { name }) => {
      const one = times.get(name);
      return one !== undefined && (last === undefined || one.to > last.to) ? one : last;
    }, undefined);
  const before = (node: DagNode): NodeTimes | undefined =>
    node.type === 'final' ? latest(dag.nodes.filter((one) => one !== node)) : latest(ancestorsWithJobs(node));
  // A NOOP parent has no job: what counts is what it waited for.
  const ancestorsWithJobs = (node: DagNode): DagNode[] => {
    const seen = new Set(parentsIn(dag, node));
    for (const one of seen)
      if (!times.has(one.name)) for (const parent of parentsIn(dag, one)) seen.add(parent);
    return [...seen];
  };
  const steps: PathStep[] = [];
  let step = latest(dag.nodes);
  while (step !== undefined) {
    const node = dag.byName.get(step.node);
    const parent: NodeTimes | undefined = node === undefined ? undefined : before(node);
    const ready = Math.min(parent?.to ?? began, step.to);
    steps.unshift({
      node: step.node,
      readyAt: new Date(ready).toISOString(),
      waitSeconds: Math.max(0, (step.to - ready) / 1000 - step.slotSeconds),
      slotSeconds: step.slotSeconds,
    });
    step = parent;
  }
  return steps;
}

function notSubmitted(run: DagRun, times: ReadonlyMap<string, NodeTimes>): NodeReport['notSubmitted'] {
  const state = stateOf(times);
  const without = run.dag.nodes
    .filter(({ name, noop, done }) => !times.has(name) && !noop && !done && !run.done.has(name))
    .map((node) => ({ node: node.name, why: notSubmittedText(whyNotSubmitted(run, node, state)) }));
  return [...Map.groupBy(without, ({ why }) => why)].map(([why, nodes]) => ({
    why,
    nodes: nodes.map(({ node }) => node),
  }));
}

/** By DAGMan's own count; without it, by the clusters in the logs. */
function retriedNodes(run: DagRun | undefined, costs: readonly NodeCost[]): NodeReport['retried'] {
  if (run?.account === undefined) return [];
  const known = new Set(costs.map(({ node }) => node));
  return [...run.account.nodes].flatMap(([node, { retries }]) =>
    retries > 0 && known.has(node) ? [{ node, retries }] : [],
  );
}
