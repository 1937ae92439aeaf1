import {
  type Dagman,
  dagmanEnds,
  type DagNode,
  type DagRun,
  type NodeState,
  notSubmittedReasons,
  notSubmittedText,
  parentsIn,
  startedInner,
} from '@updraft/htcondor/dag';
import type { JobHistory } from '../history/history.ts';
import { lossColumns, slotColumns, sumOver } from './columns.ts';
import { type JobRow, outcomeWords, type RowOutcome } from './ledger.ts';
import { jobLabels } from './job-names.ts';
import { counted, firstFew } from '@updraft/base';
import { formatHours, formatSeconds } from '@updraft/view/format';
import { type Section, sectionTable } from '@updraft/view/document';

/** The nodes of a DAG: which cost most, which decided how long it took, and which have no job. */
export interface NodeReport {
  /** How DAGMan itself ended, where the nodes do not show it: `was removed`. */
  ends: string[];
  /** The DAG file; null if only logs were read. */
  file: string | null;
  /** How many the DAG has; without its file, those with jobs. */
  nodes: number;
  /** The most expensive first. */
  costs: NodeCost[];
  /** From the first node to the last to end; empty without the DAG file. */
  criticalPath: PathStep[];
  /** PRE, POST and HOLD scripts that failed in the latest run. */
  scripts: { node: string; script: string; how: string }[];
  /** By reason; `isFailed` if it is of the nodes themselves. */
  notSubmitted: { why: string; isFailed: boolean; nodes: string[] }[];
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
  /** Of the job that ended last: those of a node run side by side, and the last decides when the node is done. */
  lastSlotSeconds: number;
}

/** Null if no job is a node. Without `run` there are only costs. */
export function nodeReport(
  jobs: readonly JobHistory[],
  rows: readonly JobRow[],
  run: DagRun | undefined,
  logs: readonly string[],
): NodeReport | null {
  const times = timesOf(jobs, rows, logs);
  if (times.size === 0 && run === undefined) return null;
  const costs = [...times.values()]
    .map(({ node, outcome, attempts, slotSeconds, lostSeconds }) => ({
      node,
      outcome,
      attempts,
      slotSeconds,
      lostSeconds,
    }))
    .sort((a, b) => b.slotSeconds - a.slotSeconds);
  return {
    ends: run === undefined ? [] : dagmanEnds(run),
    file: run === undefined ? null : run.shownAs(run.dag.file),
    nodes: run?.dag.nodes.length ?? costs.length,
    costs,
    criticalPath: run === undefined ? [] : criticalPath(run, times),
    scripts: [...(run?.accounts ?? [])].flatMap(([node, { scripts }]) =>
      scripts.map(({ when, how }) => ({ node, script: when, how })),
    ),
    notSubmitted: run === undefined ? [] : notSubmitted(run, times, startedInner(run, jobs)),
    retried: retriedNodes(run, costs),
  };
}

/**
 * A node has several jobs if its submit file queues several, or if it ran again after a success. Those of several logs
 * may have the same name.
 */
function timesOf(
  jobs: readonly JobHistory[],
  rows: readonly JobRow[],
  logs: readonly string[],
): Map<string, NodeTimes> {
  const times = new Map<string, NodeTimes>();
  const label = jobLabels({ logs });
  for (let index = 0; index < jobs.length; index++) {
    const job = jobs[index];
    const row = rows[index];
    if (job?.node === undefined || row === undefined) continue;
    const { id, node: named, log = null, from, to } = job;
    const node = label({ job: id, node: named, log });
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
      lastSlotSeconds: known === undefined || to >= known.to ? slot : known.lastSlotSeconds,
    });
  }
  return times;
}

const isGood = (outcome: RowOutcome | undefined): boolean =>
  outcome === undefined || outcome === 'success' || outcome === 'suspicious';

/** The worst first. */
const outcomes = ['failed', 'wrong-output', 'removed', 'held', 'running', 'waiting', 'suspicious'] as const;

const worse = (before: RowOutcome | undefined, now: RowOutcome): RowOutcome =>
  outcomes.find((outcome) => outcome === before || outcome === now) ?? now;

function stateOf(times: ReadonlyMap<string, NodeTimes>): (name: string) => NodeState | undefined {
  return (name) => {
    const outcome = times.get(name)?.outcome;
    if (outcome === undefined) return undefined;
    if (isGood(outcome)) return 'done';
    if (outcome === 'removed') return 'removed';
    return outcome === 'running' || outcome === 'waiting' || outcome === 'held' ? 'active' : 'failed';
  };
}

/** Backwards from the node that ended last, each time to the parent that ended last. */
function criticalPath({ dag }: DagRun, times: ReadonlyMap<string, NodeTimes>): PathStep[] {
  if (dag.graph.cycle() !== undefined) return [];
  const began = [...times.values()].reduce((first, { from }) => Math.min(first, from), Infinity);
  const latest = (nodes: readonly DagNode[]): NodeTimes | undefined =>
    nodes.reduce<NodeTimes | undefined>((last, { name, type }) => {
      // Nothing waits for a SERVICE node.
      const one = type === 'service' ? undefined : times.get(name);
      return one !== undefined && (last === undefined || one.to > last.to) ? one : last;
    }, undefined);
  const before = (node: DagNode): NodeTimes | undefined =>
    node.type === 'final'
      ? latest(dag.nodes.filter((one) => one !== node && isWithin(one, node.dagman)))
      : latest(ancestorsWithJobs(node));
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
    const parent: NodeTimes | undefined = node && before(node);
    const ready = Math.min(parent?.to ?? began, step.to);
    steps.push({
      node: step.node,
      readyAt: new Date(ready).toISOString(),
      waitSeconds: Math.max(0, (step.to - ready) / 1000 - step.lastSlotSeconds),
      slotSeconds: step.lastSlotSeconds,
    });
    step = parent;
  }
  return steps.reverse();
}

/** Whether a DAGMan runs the node, or the SUBDAG node that it is inside of. */
const isWithin = ({ name }: DagNode, { prefix }: Dagman): boolean => name.startsWith(prefix);

function notSubmitted(
  run: DagRun,
  times: ReadonlyMap<string, NodeTimes>,
  started: ReadonlySet<string>,
): NodeReport['notSubmitted'] {
  const reasonOf = notSubmittedReasons(run, stateOf(times));
  const without = run.dag.nodes
    .filter(({ name }) => !times.has(name) && !started.has(name))
    .map((node) => ({ node: node.name, reason: reasonOf(node) }));
  return [...Map.groupBy(without, ({ reason }) => notSubmittedText(reason))].map(([why, nodes]) => ({
    why,
    isFailed: nodes.some(({ reason }) => reason.why === 'pre-failed' || reason.why === 'submit-failed'),
    nodes: nodes.map(({ node }) => node),
  }));
}

/** By DAGMan's own count; without it, by the clusters in the logs. */
function retriedNodes(run: DagRun | undefined, costs: readonly NodeCost[]): NodeReport['retried'] {
  const known = new Set(costs.map(({ node }) => node));
  return [...(run?.accounts ?? [])].flatMap(([node, { retries }]) =>
    retries > 0 && known.has(node) ? [{ node, retries }] : [],
  );
}

const maxNodes = 10;
const maxNames = 8;

/** The tables about a DAG: what to repair first, then what took the time. */
export function nodeSections(report: NodeReport | null, all: boolean): Section[] {
  if (report === null) return [];
  return [scriptSection(report), missingSection(report), pathSection(report), costSection(report, all)];
}

function scriptSection({ scripts }: NodeReport): Section {
  const rows = scripts.map(({ node, script, how }) => [node, script, how]);
  return sectionTable('scripts', 'Scripts of nodes that failed', 'node | script | how', rows);
}

function missingSection({ notSubmitted }: NodeReport): Section {
  const rows = notSubmitted.map(({ why, nodes }) => [nodes.length, why, firstFew(nodes, maxNames)]);
  return sectionTable('not-submitted', 'Nodes without a job in the logs', 'nodes> | why | which', rows);
}

function pathSection({ criticalPath }: NodeReport): Section {
  const rows = criticalPath.map(({ node, waitSeconds, slotSeconds }) => [
    node,
    formatSeconds(waitSeconds),
    formatHours(slotSeconds),
  ]);
  const [waited, busy] = (['waitSeconds', 'slotSeconds'] as const).map((part) =>
    criticalPath.reduce((sum, step) => sum + step[part], 0),
  );
  const after =
    `Each node here waited for the one above it: ${formatSeconds(waited ?? 0)} off slots (scripts, ` +
    `DAGMan, queue, retries) and ${formatHours(busy ?? 0)} on slots decided how long the DAG took.`;
  const head = 'node | off slots> | on slots>';
  // One node alone decides nothing.
  const shown = criticalPath.length > 1 ? rows : [];
  return sectionTable('path', 'Critical path', head, shown, { after: [after] });
}

function costSection({ costs, retried }: NodeReport, all: boolean): Section {
  const shown = costs.length < 2 ? [] : costs.slice(0, all ? undefined : maxNodes);
  const retries = new Map(retried.map(({ node, retries: count }) => [node, count]));
  const rows = shown.map(({ node, outcome, attempts, slotSeconds, lostSeconds }) => [
    node,
    outcomeWords(outcome),
    attempts,
    retries.get(node) ?? '',
    formatHours(slotSeconds),
    formatHours(lostSeconds),
  ]);
  const left = costs.length - shown.length;
  const after = left > 0 && shown.length > 0 ? [`${counted(left, 'more node')}: --all shows them.`] : [];
  const head = 'node | outcome | attempts> | retries> | on slots> | lost>';
  return sectionTable('nodes', 'Nodes by time on slots', head, rows, { after });
}
