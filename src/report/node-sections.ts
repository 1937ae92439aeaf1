import { counted, firstFew } from '@updraft/base';
import type { NodeReport } from './node-report.ts';
import { formatHours, formatSeconds } from './format.ts';
import { type Section, sectionTable } from './section.ts';

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
  const after = `Each node here waited for the one above it: ${formatSeconds(waited ?? 0)} off slots (scripts, DAGMan, queue, retries) and ${formatHours(busy ?? 0)} on slots decided how long the DAG took.`;
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
    outcome === 'wrongOutput' ? 'with a wrong output' : outcome,
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
