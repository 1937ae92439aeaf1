import { posix } from 'node:path';
import { type SubmitFacts, survey, type SurveyOptions } from '../submit/submit-facts.ts';
import { filesFrom, type SubmitFiles } from '../submit/submit-files.ts';
import type { GivenValue } from '../submit/submit-reader.ts';
import type { InlineDescription } from './dag-command.ts';
import { ownName, parentsIn, submitFile, type Dag, type DagNode } from './dag.ts';
import { parseSubmit } from '../submit/parse-submit.ts';

/** Nodes that submit the same description in the same folder. */
export interface NodeGroup {
  /** The submit file, relative to the DAG's folder; the DAG file for a description that is written into it. */
  file: string;
  /** The description, if it is written into the DAG file. */
  inline: InlineDescription | undefined;
  isMissing: boolean;
  folder: string;
  nodes: DagNode[];
}

/** A submit description with the VARS of a node, and every node for which they come to the same. */
export interface NodeOutcome {
  group: NodeGroup;
  nodes: DagNode[];
  facts: SubmitFacts;
}

/** What a survey of a node's submit description needs besides the description. */
export type DescriptionContext = Omit<SurveyOptions, 'file' | 'text' | 'cwd' | 'given'>;

/** Submit descriptions that are read; more VARS would hardly show more. Of too many, a sample shows as much. */
const [maxOutcomes, maxSample] = [400, 100];

/** The nodes that submit jobs, by what they submit. */
export function nodeGroups(dag: Dag, files: SubmitFiles): NodeGroup[] {
  const groups = new Map<string, NodeGroup>();
  for (const node of dag.nodes) {
    if (node.type === 'subdag' || node.noop) continue;
    const inline = node.inline ?? dag.descriptions.get(node.dagman.prefix + node.submit);
    const key = `${node.folder}\n${inline === undefined ? node.submit : JSON.stringify(inline.place)}`;
    const group = groups.get(key) ?? newGroup(node, inline, files);
    group.nodes.push(node);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function newGroup(node: DagNode, inline: InlineDescription | undefined, files: SubmitFiles): NodeGroup {
  const { folder } = node;
  const file = submitFile(node);
  return inline === undefined
    ? { file, inline, isMissing: files.stat(file)?.kind === 'missing', folder, nodes: [] }
    : { file: inline.place.file, inline, isMissing: false, folder, nodes: [] };
}

/**
 * The distinct outcomes of a DAG's submit descriptions, at most a few hundred: first one for every set of names
 * that VARS define, then one for every set of values. `isPartial` says whether some were left out.
 */
export function nodeOutcomes(
  dag: Dag,
  groups: readonly NodeGroup[],
  waits: Waits,
  context: DescriptionContext,
): { outcomes: NodeOutcome[]; isPartial: boolean } {
  const alike = groups
    .filter(({ isMissing }) => !isMissing)
    .filter(({ file, inline }) => inline !== undefined || context.files.stat(file) !== undefined)
    .flatMap((group) =>
      [...Map.groupBy(group.nodes, (node) => outcomeKey(waits, node)).values()].map((nodes) => ({
        group,
        nodes,
      })),
    );
  const byNames = new Map<string, (typeof alike)[number]>();
  for (const one of alike) {
    const key = namesKey(waits, one);
    if (!byNames.has(key)) byNames.set(key, one);
  }
  const read = new Set([...byNames.values()].slice(0, maxOutcomes));
  const max = alike.length > maxOutcomes ? maxSample : maxOutcomes;
  for (const one of alike) if (read.size < max) read.add(one);
  return {
    outcomes: alike
      .filter((one) => read.has(one))
      .map((one) => ({ ...one, facts: factsOf(dag, one, context) })),
    isPartial: read.size < alike.length,
  };
}

const namesKey = (waits: Waits, { group, nodes: [node] }: { group: NodeGroup; nodes: DagNode[] }): string =>
  [group.folder, group.file, waits(node), ...(node?.vars.map(({ name }) => name).sort() ?? [])].join('\n');

/** Whether a parent or a PRE script may still write files that a node needs; a parent that is done writes nothing. */
export function waitsIn(dag: Dag, done: ReadonlySet<DagNode>): (node: DagNode | undefined) => boolean {
  const indexes = new Set([...done].map(({ index }) => index));
  const waits = (node: DagNode | undefined): boolean => {
    if (node === undefined) return false;
    if (node.scripts.has('PRE') || node.type === 'final') return true;
    const around = node.dagman.node;
    // The first nodes of an inner DAG wait for what the SUBDAG node waits for.
    if (around !== undefined && dag.graph.waitsOnlyFor(around.index, node.index)) return waits(around);
    return indexes.size === 0 || indexes.has(node.index)
      ? dag.graph.hasParents(node.index)
      : dag.graph.someParent(node.index, (parent) => !indexes.has(parent));
  };
  return waits;
}

type Waits = ReturnType<typeof waitsIn>;

function outcomeKey(waits: Waits, node: DagNode): string {
  const vars = node.vars.map(({ name, value, append }) => `${name} ${append} ${value}`);
  return `${waits(node)}\n${vars.sort().join('\n')}`;
}

function factsOf(
  dag: Dag,
  { group, nodes: [node] }: { group: NodeGroup; nodes: readonly DagNode[] },
  context: DescriptionContext,
): SubmitFacts {
  return survey({
    ...context,
    file: group.file,
    cwd: group.folder,
    text: group.inline?.text ?? context.files.read(group.file) ?? '',
    files: filesFrom(context.files, group.folder),
    given: node === undefined ? [] : givenTo(dag, node),
  });
}

/** `VARS A job="$(JOB)"` sets a name to the value that DAGMan gives it, whatever the case. */
function withOwn(name: string, value: string, own: Readonly<Record<string, string>>): string {
  const [, same] = Object.entries(own).find(([one]) => one.toLowerCase() === name.toLowerCase()) ?? [];
  return same === undefined
    ? value
    : value.replaceAll(/\$\((\w+)\)/g, (text, one: string) =>
        one.toLowerCase() === name.toLowerCase() ? same : text,
      );
}

/** What DAGMan gives to `condor_submit` with a node. */
function givenTo(dag: Dag, node: DagNode): GivenValue[] {
  const own = {
    JOB: ownName(node),
    RETRY: '0',
    DAG_STATUS: '0',
    FAILED_COUNT: '0',
    DAGManJobId: '1',
    DAG_PARENT_NAMES: parentsIn(dag, node)
      .filter(({ dagman }) => dagman === node.dagman)
      .map(ownName)
      .join(','),
  };
  const { place } = node;
  const replaced = new Set(node.vars.map(({ name }) => name.toLowerCase()));
  return [
    ...Object.entries(own)
      .filter(([name]) => !replaced.has(name.toLowerCase()))
      .map(([name, value]) => ({ name, value, append: false, place })),
    ...node.vars.map((one) => ({ ...one, value: withOwn(one.name, one.value, own) })),
  ];
}

/** The file that every node of the outcome writes; undefined if its name differs by node or cluster. */
export function sharedName({ group, facts }: NodeOutcome, command: string): string | undefined {
  const queue = facts.submission.queues[0];
  const raw = queue?.inForce.get(command)?.value ?? '';
  const commands = queue?.jobs[0]?.commands;
  const name = commands?.[command] ?? '';
  if (name === '' || name === '/dev/null' || /\$\(?(job|jobid|cluster|clusterid)\b|\$\$/i.test(raw))
    return undefined;
  const folder = posix.join(group.folder, commands?.['initialdir'] ?? '.');
  return posix.isAbsolute(name) ? name : posix.join(folder, name);
}

/** Nodes whose log's name is worked out; more would take too long, and `.nodes.log` has their events. */
const maxNodes = 5000;

/** The event logs that the nodes' submit files name, relative to the DAG's folder. */
export function nodeLogs(dag: Dag, context: Pick<DescriptionContext, 'files' | 'env' | 'now'>): string[] {
  const logs = new Set<string>();
  let left = maxNodes;
  for (const group of nodeGroups(dag, context.files))
    for (const node of group.nodes) {
      if (group.isMissing || left-- <= 0) break;
      const { log, isSame } = logOf(dag, group, node, context);
      if (log !== undefined) logs.add(log);
      if (isSame) break;
    }
  return [...logs];
}

/** A node's log, and whether all nodes of its group have the same. */
function logOf(
  dag: Dag,
  group: NodeGroup,
  node: DagNode,
  { files, env, now }: Pick<DescriptionContext, 'files' | 'env' | 'now'>,
): { log: string | undefined; isSame: boolean } {
  const text = group.inline?.text ?? files.read(group.file) ?? '';
  const from = filesFrom(files, group.folder);
  const given = givenTo(dag, node);
  const context = { file: group.file, cwd: group.folder, files: from, env, now, given, maxJobs: 1 };
  const queue = parseSubmit(text, context).queues[0];
  const { log, initialdir = '.' } = queue?.jobs[0]?.commands ?? {};
  const isSame = !(queue?.inForce.get('log')?.value ?? '').includes('$') && !initialdir.includes('$');
  if (log === undefined || log === '' || log.includes('$$(')) return { log: undefined, isSame };
  const folder = posix.isAbsolute(initialdir) ? initialdir : posix.join(group.folder, initialdir);
  return { log: posix.isAbsolute(log) ? log : posix.join(folder, log), isSame };
}
