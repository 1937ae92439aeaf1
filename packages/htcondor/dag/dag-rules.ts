import { posix } from 'node:path';
import type { SubmitFiles } from '../submit/submit-files.ts';
import { asFound, counted, type Found, type Rule, type RuleResult, rule } from '@updraft/base';
import type { ScriptTime } from './dag-command.ts';
import { ownName, type Dag, type DagNode, type DagProblemKind, type DagScript, submitFile } from './dag.ts';
import { type NodeGroup, type NodeOutcome, sharedName } from './node-outcomes.ts';
import type { Rescue } from './read-dag.ts';

/** Everything the rules about DAGs use. */
export interface DagFacts {
  dag: Dag;
  /** The absolute folder of the DAG, where `condor_submit_dag` is assumed to run; undefined where it is unknown. */
  folder: string | undefined;
  /** By their names from there. */
  files: SubmitFiles;
  groups: NodeGroup[];
  outcomes: NodeOutcome[];
  /** Not all outcomes were read. */
  isPartial: boolean;
  rescues: Rescue[];
  /** Whether a parent or a PRE script may still write files that the node needs. */
  waits: (node: DagNode | undefined) => boolean;
}

const problems =
  (...kinds: DagProblemKind[]) =>
  ({ dag }: DagFacts): Found[] =>
    dag.problems
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ message, fix, place }) => asFound(message, fix, place));

/** Rules about DAG files; those about the nodes' submit files are `adopt`'s. */
export const dagRules: Rule<DagFacts>[] = [
  rule(
    'dag-syntax',
    'error',
    'DAGMan refuses a line of the DAG file.',
    problems('syntax', 'recursion', 'rejected'),
  ),
  rule(
    'dag-unknown-node',
    'error',
    'A command names a node that the DAG does not have.',
    problems('unknown-node'),
  ),
  rule('dag-duplicate-node', 'error', 'A node or splice is defined twice.', problems('duplicate-node')),
  rule(
    'dag-misused-node',
    'error',
    'A command does not fit its node: a FINAL node has no parents and no RETRY.',
    problems('misused-node'),
  ),
  rule(
    'dag-cycle',
    'error',
    'Nodes wait for each other in a circle, or an inner DAG submits a DAG that it is a part of.',
    (facts) => [cycle(facts), problems('endless')(facts)].flat(),
  ),
  rule(
    'dag-file-missing',
    'error',
    'A submit file, DAG file, folder or configuration that the DAG names is not there.',
    (facts) => [...problems('missing-file')(facts), ...missingFiles(facts, false)],
  ),
  rule(
    'dag-file-later',
    'note',
    'A submit or DAG file is not there yet; a parent or a PRE script must write it.',
    (facts) => missingFiles(facts, true),
  ),
  rule(
    'dag-script-missing',
    'error',
    'A PRE, POST or HOLD script is not there or cannot be executed. DAGMan does not search the PATH.',
    brokenScripts,
  ),
  rule(
    'dag-script-replaced',
    'warning',
    'A node has two scripts of the same kind, and DAGMan runs only the last one.',
    problems('script-replaced'),
  ),
  rule('dag-in-tmp', 'error', 'The DAG is in /tmp: DAGMan refuses to keep its log there.', inTmp),
  rule(
    'dag-rescue-stale',
    'error',
    'The newest rescue file names nodes that the DAG no longer has, so DAGMan refuses to start.',
    staleRescue,
  ),
  rule(
    'dag-final-hides-failure',
    'warning',
    'A FINAL node that succeeds makes the DAG a success, even if other nodes failed.',
    hidingFinal,
  ),
  rule(
    'dag-vars-overridden',
    'warning',
    'The submit file sets a name after VARS have set it, so that VARS have no effect.',
    overriddenVars,
  ),
  rule(
    'dag-nodes-overwrite',
    'warning',
    'Nodes write standard output or error to the same file.',
    overwritingNodes,
  ),
  rule(
    'dag-not-read',
    'note',
    'Only a part of the DAG was checked: it is too large, or connects splices by pins.',
    (facts) => [problems('not-read')(facts), partlyRead(facts)].flat(),
  ),
];

/** `A`, or `A and 3 other nodes`. */
export function nodesText(nodes: readonly DagNode[]): string {
  const [first, ...others] = nodes;
  return `${first?.name ?? ''}${others.length === 0 ? '' : ` and ${counted(others.length, 'other node')}`}`;
}

const maxShownCycle = 8;

function cycle({ dag }: DagFacts): Found | [] {
  const found = dag.graph.cycle()?.flatMap((index) => dag.byIndex[index] ?? []);
  const [first] = found ?? [];
  if (found === undefined || first === undefined) return [];
  const names = found.map(({ name }) => name);
  const shown = names.length > maxShownCycle ? [...names.slice(0, maxShownCycle), '…'] : names;
  return asFound(
    `nodes wait for each other: ${[...shown, first.name].join(' → ')}`,
    'take one of them out of a PARENT … CHILD line',
    first.place,
  );
}

/** Files that a node needs; `later`: those that a parent or PRE script may still write. */
function missingFiles({ dag, files, groups, waits }: DagFacts, later: boolean): Found[] {
  const gone = (name: string): boolean => files.stat(name)?.kind === 'missing';
  const found: Found[] = [];
  for (const { file, folder, isMissing, nodes } of groups) {
    const these = isMissing && !gone(folder) ? nodes.filter((node) => waits(node) === later) : [];
    if (these[0] !== undefined) found.push(missing('submit file', file, these, these[0], later));
  }
  const [first, ...others] = found;
  if (first !== undefined && others.length > maxMissing) {
    const message = `${first.message}; nor are ${counted(others.length, 'other submit file')}`;
    found.splice(0, found.length, { ...first, message });
  }
  for (const node of dag.nodes) {
    const inner = node.type === 'subdag' ? submitFile(node) : undefined;
    if (inner !== undefined && gone(inner) && waits(node) === later)
      found.push(missing('DAG file', inner, [node], node, later));
    else if (!later && node.folder !== '.' && gone(node.folder) && !waits(node))
      found.push(missing('folder', node.folder, [node], node, later));
  }
  if (!later)
    for (const { file, place } of dag.configs)
      if (gone(file))
        found.push({
          message: `the configuration ${file} is not there`,
          fix: 'correct its name',
          place,
          about: [file],
        });
  return found;
}

const missing = (
  what: string,
  name: string,
  nodes: readonly DagNode[],
  { place }: DagNode,
  later: boolean,
): Found =>
  asFound(
    later
      ? `the ${what} ${name} of ${nodesText(nodes)} is not there yet`
      : `the ${what} ${name} of ${nodesText(nodes)} is not there: the job cannot be submitted`,
    later ? 'check that a parent or the PRE script writes it' : 'correct its name, or write the file',
    place,
  );

function brokenScripts({ dag, files }: DagFacts): Found[] {
  const broken = new Map<string, { found: Omit<Found, 'place'>; script: DagScript; nodes: DagNode[] }>();
  for (const node of dag.nodes)
    for (const [when, script] of node.scripts) {
      const found = scriptProblem(files, node, when, script);
      if (found === undefined) continue;
      const key = JSON.stringify(found);
      const known = broken.get(key) ?? { found, script, nodes: [] };
      known.nodes.push(node);
      broken.set(key, known);
    }
  return [...broken.values()].map(({ found, script, nodes }) => ({
    ...found,
    message: `${found.message}, so ${nodesText(nodes)} ${nodes.length === 1 ? 'fails' : 'fail'}`,
    place: script.place,
  }));
}

function scriptProblem(
  files: SubmitFiles,
  { folder }: DagNode,
  when: ScriptTime,
  { command }: DagScript,
): Omit<Found, 'place'> | undefined {
  const [name = ''] = command.split(/[ \t]+/, 1);
  if (name.startsWith('$')) return undefined;
  const file = posix.isAbsolute(name) ? name : posix.join(folder, name);
  const fact = files.stat(file);
  const what = `the ${when} script ${name}`;
  if (fact?.kind === 'missing')
    return name.includes('/')
      ? { message: `${what} is not there`, fix: 'correct its name, or write the file' }
      : {
          message:
            `${what} is not in ${folder === '.' ? 'the folder of the DAG' : folder}, ` +
            'and DAGMan does not search the PATH',
          fix: 'put it there, or write its full path',
        };
  if (fact?.kind === 'folder') return { message: `${what} is a folder`, fix: 'name a program' };
  if (fact?.isExecutable === false) return { message: `${what} is not executable`, fix: `chmod +x ${file}` };
  const text = fact === undefined || fact.bytes > maxScriptBytes ? undefined : files.read(file);
  if (text === undefined || text.startsWith('#!') || text.includes('\0')) return undefined;
  return {
    message: `${what} has no \`#!\` line`,
    fix: 'make its first line #!/bin/sh, or the interpreter it is for',
  };
}

/** More submit files that are not there have the same cause. */
const maxMissing = 5;
const maxScriptBytes = 1 << 20;

function inTmp({ dag, folder, files }: DagFacts): RuleResult {
  const isLenient = dag.configs.some(({ file }) =>
    /^\s*DAGMAN_USE_STRICT\s*=\s*0\s*$/im.test(files.read(file) ?? ''),
  );
  if (folder === undefined || isLenient || !/^\/tmp(\/|$)/.test(folder)) return [];
  return asFound(
    'the DAG is in /tmp, and so would be its log: DAGMan refuses that',
    `move the folder into your home, or put DAGMAN_USE_STRICT = 0 into a file that CONFIG names`,
    { file: dag.file, line: 1 },
  );
}

function staleRescue({ rescues }: DagFacts): Found[] {
  return rescues.flatMap(({ file, unknown: [first, ...others] }) => {
    if (first === undefined) return [];
    const more = others.length === 0 ? '' : ` and ${counted(others.length, 'other')}`;
    return asFound(
      `${file} marks ${first.name}${more} as done, but the DAG has no such node: DAGMan refuses to start`,
      `delete the line, or start afresh: condor_submit_dag -autorescue 0`,
      { file, line: first.line },
    );
  });
}

/** The FINAL node may pass on what it gets to know about the others. */
function hidingFinal({ dag, outcomes }: DagFacts): Found[] {
  const knows = /\$\(?(dag_status|failed_count)\b/i;
  return dag.nodes.flatMap((final) => {
    if (final.type !== 'final') return [];
    const outcome = outcomes.find(({ nodes }) => nodes.includes(final));
    const isPassedOn = outcome?.facts.submission.assignments.some(({ value }) => knows.test(value));
    if (isPassedOn === true || knows.test(final.scripts.get('POST')?.command ?? '')) return [];
    const name = ownName(final);
    return asFound(
      `if ${name} succeeds, DAGMan exits with 0 even if other nodes failed`,
      `let a script decide, which fails unless it gets 0:\nSCRIPT POST ${name} check.sh $DAG_STATUS`,
      final.place,
    );
  });
}

function overriddenVars({ outcomes }: DagFacts): Found[] {
  const found = new Map<string, Found>();
  for (const { facts, nodes } of outcomes)
    for (const { name, append, place } of nodes[0]?.vars ?? []) {
      const own = facts.submission.assignments.find(
        (one) => one.name.toLowerCase() === name.toLowerCase() && one.place !== place,
      );
      if (append || own === undefined || own.value.toLowerCase().includes(`$(${name.toLowerCase()}`))
        continue;
      const key = `${name} ${own.place.file} ${own.place.line}`;
      if (found.has(key)) continue;
      found.set(
        key,
        asFound(
          `VARS of ${nodesText(nodes)} set \`${name}\`, but line ${own.place.line} ` +
            `of ${own.place.file} sets it again: VARS have no effect`,
          `delete that line, or write VARS NODE APPEND ${name}="…"`,
          place,
        ),
      );
    }
  return [...found.values()];
}

function overwritingNodes({ outcomes }: DagFacts): Found[] {
  return ['output', 'error'].flatMap((command) => {
    const writers = new Map<string, { nodes: DagNode[]; outcome: NodeOutcome }>();
    for (const outcome of outcomes) {
      const name = sharedName(outcome, command);
      if (name === undefined) continue;
      const known = writers.get(name) ?? { nodes: [], outcome };
      for (const node of outcome.nodes) known.nodes.push(node);
      writers.set(name, known);
    }
    return [...writers].flatMap(([name, { nodes, outcome }]) => {
      const place = outcome.facts.submission.queues[0]?.inForce.get(command)?.place;
      if (nodes.length < 2) return [];
      return asFound(
        `${nodesText(nodes)} write \`${command}\` to ${name}: only the last one's output is kept`,
        `put the node's name into it:\n${command} = ${withJob(name)}`,
        place,
      );
    });
  });
}

function withJob(name: string): string {
  const { dir, name: stem, ext } = posix.parse(name);
  return posix.join(dir, `${stem}.$(JOB)${ext}`);
}

function partlyRead({ dag, outcomes, isPartial }: DagFacts): Found | [] {
  if (!isPartial) return [];
  return asFound(
    'the submit files were read with the VARS of ' +
      `${counted(outcomes.length, 'node')} of ${counted(dag.nodes.length, 'node')}`,
    'fix what was found, and check again',
    { file: dag.file, line: 1 },
  );
}
