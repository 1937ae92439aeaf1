import { countByLevel, groupFindings } from '../lint/finding-groups.ts';
import { hideInFindings, hideSecretsOf, quotedTexts } from '../lint/hide-secrets.ts';
import { alikeAsOne, lintSubmission } from '../lint/lint.ts';
import { applyRules, counted, type Finding, printable, sortFindings } from '@updraft/base';
import { type DagFacts, dagRules, nodesText } from './dag-rules.ts';
import type { Dag, DagNode, DagProblemKind } from './dag.ts';
import {
  type DescriptionContext,
  nodeGroups,
  nodeOutcomes,
  type NodeOutcome,
  waitsIn,
} from './node-outcomes.ts';
import { readDag, newestRescue, readRescue, type Rescue } from './read-dag.ts';

export interface DagSurveyOptions extends DescriptionContext {
  /** The name of the DAG file in its folder. */
  file: string;
  text: string;
  /** The absolute folder, where it is known. */
  folder: string | undefined;
}

/** Reads a DAG with its rescue file and its nodes' submit files. Runs nothing. */
export function surveyDag(options: DagSurveyOptions): DagFacts {
  const { file, text, folder, files } = options;
  const unknown = new Set<string>();
  const dag = readDag(file, text, (name) => {
    const part = files.read(name);
    if (part === undefined && files.stat(name) === undefined) unknown.add(name);
    return part;
  });
  // What is not known to be missing may have the nodes that others name.
  if (unknown.size > 0) dag.problems = dag.problems.filter(({ kind }) => !partProblems.has(kind));
  const groups = nodeGroups(dag, files);
  const { rescues, done } = rescuesOf(dag, options);
  const waits = waitsIn(dag, done);
  return { dag, folder, files, groups, waits, rescues, ...nodeOutcomes(dag, groups, waits, options) };
}

const partProblems = new Set<DagProblemKind>(['missing-file', 'unknown-node']);

/** Of the DAG and of inner DAGs that would run, and all nodes that are marked as done. */
function rescuesOf(dag: Dag, { files }: DagSurveyOptions): { rescues: Rescue[]; done: Set<DagNode> } {
  const rescues: Rescue[] = [];
  const done = new Set(dag.nodes.filter((node) => node.done));
  for (const dagman of dag.dagmans) {
    const name = newestRescue(dagman.file, (one) => files.stat(one)?.kind === 'file');
    const text = name === undefined ? undefined : files.read(name);
    if (name === undefined || text === undefined) continue;
    if (dagman.node !== undefined && done.has(dagman.node)) continue;
    const rescue = readRescue(name, text, dag, dagman);
    rescues.push(rescue);
    for (const node of rescue.done) done.add(node);
  }
  return { rescues, done };
}

/** Everything wrong or risky in a DAG, its scripts and its nodes' submit files, the worst first. */
export function lintDag(facts: DagFacts): Finding[] {
  const found = applyRules(dagRules, facts);
  const named = new Set(found.flatMap(({ file }) => file ?? []));
  const texts = [...named].map((file) => (facts.files.read(file) ?? '').replaceAll(onlyNames, ''));
  const own = hideInFindings(found, hideSecretsOf(texts));
  return alikeAsOne(sortFindings([...own, ...nodeFindings(facts)]));
}

/** Most lines of a large DAG have no secrets, but names and numbers, and looking for secrets takes long. */
const plain = String.raw`(?:JOB|PARENT|RETRY|CATEGORY|PRIORITY|DONE)[ \t][\w. \t/-]*`;
const numbers = String.raw`VARS[ \t]+[\w.+/-]+(?:[ \t]+\w+="[\d.]{0,6}")+`;
const onlyNames = new RegExp(String.raw`^[ \t]*(?:${plain}|${numbers})$\n?`, 'gim');

export function shownDag({ dag, files }: DagFacts, findings: readonly Finding[]) {
  const named = [...new Set(findings.flatMap(({ file }) => file ?? []))];
  const texts = named.map((file) => ({ file, text: files.read(file) ?? '' }));
  return { headline: dagHeadline(dag, findings), groups: groupFindings(findings, texts) };
}

/** `workflow.dag: 3 nodes; 1 error, 0 warnings, 2 notes` */
function dagHeadline({ file, nodes, dagmans }: Dag, findings: readonly Finding[]): string {
  const inner = nodes.filter(({ dagman }) => dagman.node !== undefined).length;
  const ofInner =
    dagmans.length === 1 ? '' : `, ${inner} of them in ${counted(dagmans.length - 1, 'inner DAG')}`;
  return `${printable(file)}: ${counted(nodes.length, 'node')}${ofInner}; ${countByLevel(findings)}`;
}

/** Rules that say nothing about a node: DAGMan keeps a log of its own, and names by node are its own rule. */
const notForNodes = new Set(['no-log', 'fixed-names']);
/** A parent or the PRE script may write what is missing. */
const writtenLater = new Set(['input-missing', 'folder-missing', 'no-item-list']);

/** Findings in submit files: one for each rule and line, with the nodes it is about unless it is about all. */
function nodeFindings({ dag, waits, rescues, outcomes }: DagFacts): Finding[] {
  const inOrder = (finding: Finding, node: DagNode | undefined): Finding => {
    if (!writtenLater.has(finding.rule) || node === undefined) return finding;
    if (waits(node))
      return {
        ...finding,
        level: 'note',
        fix: `check that a parent or the PRE script writes it; else: ${finding.fix}`,
      };
    if (!dag.graph.hasParents(node.index)) return finding;
    const { file = dag.file } = rescues.find(({ dagman }) => dagman === node.dagman) ?? {};
    const fix =
      `if a parent writes it, delete that node's DONE in ${file}: ` +
      `it would not run again; else: ${finding.fix}`;
    return { ...finding, fix };
  };
  // Most texts are the same in all outcomes.
  const hide = hideSecretsOf(outcomes.flatMap(({ facts }) => quotedTexts(facts)));
  const found = outcomes.flatMap((outcome) =>
    lintSubmission(outcome.facts, hide)
      // DAGMan adds the queue statement to a description that is written into the DAG.
      .filter(({ rule }) => !notForNodes.has(rule) && (rule !== 'no-queue' || !outcome.group.inline))
      .map((finding) => ({ outcome, finding: inOrder(finding, outcome.nodes[0]) })),
  );
  const outcomesOf = Map.groupBy(outcomes, ({ group }) => group);
  const byLine = Map.groupBy(found, ({ finding: { rule, level, file, line }, outcome: { group } }) =>
    JSON.stringify([rule, level, file, line, group.folder]),
  );
  return [...byLine.values()].flatMap((same) => oneFinding(same, outcomesOf));
}

function oneFinding(
  same: readonly { outcome: NodeOutcome; finding: Finding }[],
  outcomesOf: ReadonlyMap<NodeOutcome['group'], readonly NodeOutcome[]>,
): Finding[] {
  const [first] = same;
  if (first === undefined) return [];
  const { finding, outcome } = first;
  const messages = new Set(same.map((one) => one.finding.message));
  const mine = same.filter((one) => one.outcome === outcome).map((one) => one.finding);
  const concerned = new Set(same.map((one) => one.outcome));
  // Everything that one outcome finds at this line, if all the others find just that.
  if (messages.size === new Set(mine.map(({ message }) => message)).size) {
    const isAll = [...new Set([...concerned].map(({ group }) => group))].every((group) =>
      (outcomesOf.get(group) ?? []).every((one) => concerned.has(one)),
    );
    const who = nodesText([...concerned].flatMap(({ nodes }) => nodes));
    return isAll
      ? mine
      : mine.map((one) => ({ ...one, message: `${one.message} (${who})`, about: undefined }));
  }
  const others = messages.size - 1;
  const likewise = ` (${outcome.nodes[0]?.name ?? ''}; ${counted(others, 'other node')} likewise)`;
  return [{ ...finding, message: `${finding.message}${likewise}` }];
}
