import { posix } from 'node:path';
import { nearest, type SourceLine, counted, firstFew, printable, given } from '@updraft/base';
import type { DagCommand, InlineDescription } from './dag-command.ts';
import {
  ownName,
  type Dag,
  type Dagman,
  type DagNode,
  type DagProblem,
  type DagProblemKind,
  DagGraph,
} from './dag.ts';
import { parseDag, type ParsedDag } from './parse-dag.ts';

/** The text of a file, named relative to the DAG's folder; undefined when it cannot be read. */
export type ReadText = (name: string) => string | undefined;

/** DAGs inside DAGs, whether spliced, included or external; more are a mistake. */
const maxDepth = 100;

/** Splices of splices can have more nodes than memory has room for. */
const defaultMaxNodes = 200_000;

/**
 * Reads a DAG with its splices, included files and inner DAGs as DAGMan does. It never throws: what is wrong is in
 * `problems`.
 */
export function readDag(file: string, text: string, read: ReadText, maxNodes = defaultMaxNodes): Dag {
  const reader = new DagReader(file, read, maxNodes);
  const main = { file, folder: '.', prefix: '', node: undefined };
  reader.readFile(text, file, new DagScope('', '.', main, reader.graph));
  return reader.dag();
}

const isAllNodes = (name: string): boolean => name.toUpperCase() === 'ALL_NODES';

class DagReader {
  readonly graph = new DagGraph();
  readonly #file: string;
  readonly #read: ReadText;
  readonly #maxNodes: number;
  readonly #parsed = new Map<string, ParsedDag>();
  readonly #dagmans: Dagman[] = [];
  readonly #nodes: DagNode[] = [];
  readonly #descriptions = new Map<string, InlineDescription>();
  readonly #configs: Dag['configs'] = [];
  /** A file that is read several times has each of its problems once. */
  readonly #problems = new Map<string, DagProblem>();
  /** The files being read, from the main file inwards. */
  readonly #open: string[] = [];
  #isFull = false;

  constructor(file: string, read: ReadText, maxNodes: number) {
    this.#file = file;
    this.#read = read;
    this.#maxNodes = maxNodes;
  }

  dag(): Dag {
    const nodes = this.#nodes;
    const byIndex: DagNode[] = [];
    for (const node of nodes) {
      byIndex[node.index] = node;
      if (node.vars.length > 1) node.vars = lastVars(node.vars);
    }
    let byName: Map<string, DagNode> | undefined;
    return {
      file: this.#file,
      dagmans: this.#dagmans,
      nodes,
      get byName() {
        return (byName ??= new Map(nodes.map((node) => [node.name, node])));
      },
      byIndex,
      graph: this.graph,
      descriptions: this.#descriptions,
      configs: this.#configs,
      problems: [...this.#problems.values()],
    };
  }

  /** As in DAGMan, nodes and splices are read first, so that other commands may stand before them. */
  readFile(text: string, file: string, scope: DagScope): void {
    this.#open.push(posix.normalize(file));
    if (!this.#dagmans.includes(scope.dagman)) this.#dagmans.push(scope.dagman);
    const { commands, errors } = this.#parsed.get(file) ?? parseDag(text, file);
    this.#parsed.set(file, { commands, errors });
    for (const { place, message, fix } of errors) this.#note('syntax', place, message, fix);
    for (const command of commands) this.#define(command, scope);
    for (const command of commands) this.#apply(command, scope);
    this.#open.pop();
    if (scope.prefix !== '') scope.recordEnds();
  }

  #note(kind: DagProblemKind, place: SourceLine, message: string, fix: string): void {
    const key = JSON.stringify([place, kind, message]);
    if (!this.#problems.has(key)) this.#problems.set(key, { kind, message, fix, place });
  }

  #define(command: DagCommand, scope: DagScope): void {
    const { place } = command;
    if (command.kind === 'node') this.#defineNode(command, scope);
    else if (command.kind === 'splice') this.#defineSplice(command, scope);
    else if (command.kind === 'description')
      this.#descriptions.set(scope.dagman.prefix + command.name, command.inline);
    else if (command.kind === 'reject')
      this.#note(
        'rejected',
        place,
        'DAGMan refuses a DAG with REJECT',
        'delete the line once the DAG is complete',
      );
  }

  #defineNode(command: DagCommand & { kind: 'node' }, scope: DagScope): void {
    const { name, type, submit, inline, dir, noop, done, place } = command;
    if (this.#isTaken(name, scope, place) || this.#isFullAt(place)) return;
    if (type === 'final' && scope.prefix !== scope.dagman.prefix) {
      this.#note('misused-node', place, 'a splice has a FINAL node', 'move the FINAL node into the main DAG');
      return;
    }
    const single = type === 'final' || type === 'provisioner';
    if (single && [...scope.nodes.values()].some((node) => node.type === type)) {
      const word = type.toUpperCase();
      this.#note('duplicate-node', place, `there is a second ${word} node`, `keep one ${word} node`);
      return;
    }
    const node: DagNode = {
      index: this.graph.addNode(),
      name: scope.prefix + name,
      dagman: scope.dagman,
      type,
      submit,
      inline,
      folder: dir === undefined ? scope.folder : posix.join(scope.folder, dir),
      noop,
      done,
      vars: [],
      scripts: noScripts,
      place,
    };
    if (posix.isAbsolute(dir ?? '')) node.folder = posix.normalize(dir ?? '');
    scope.nodes.set(name, node);
    this.#nodes.push(node);
    if (type === 'subdag' && !noop) this.#defineInner(name, node, scope);
  }

  /** DAGMan runs an inner DAG in the folder of its node; one that is not there may be written later. */
  #defineInner(name: string, node: DagNode, scope: DagScope): void {
    const file = resolveIn(node.folder, node.submit);
    if (this.#open.includes(file)) {
      const message = `${ownName(node)} submits ${file}, which it is itself a part of: that would never end`;
      this.#note('endless', node.place, message, 'delete the line, or name another DAG');
      return;
    }
    const text = this.#read(file);
    if (text === undefined || this.#isTooDeepAt(node.place)) return;
    const dagman = { file, folder: node.folder, prefix: `${node.name}/`, node };
    const inner = new DagScope(dagman.prefix, node.folder, dagman, this.graph);
    scope.inner.set(name, inner);
    this.readFile(text, file, inner);
    this.graph.connect(
      [node.index],
      inner.ends.first.map(({ index }) => index),
    );
  }

  #isTooDeepAt(place: SourceLine): boolean {
    if (this.#open.length < maxDepth) return false;
    this.#note('not-read', place, `DAGs inside DAGs were read ${maxDepth} deep`, 'join some of them');
    return true;
  }

  #isTaken(name: string, scope: DagScope, place: SourceLine): boolean {
    const before = scope.nodes.get(name);
    if (before === undefined && !scope.splices.has(name)) return false;
    const where = before === undefined ? '' : ` (line ${before.place.line} of ${before.place.file})`;
    this.#note(
      'duplicate-node',
      place,
      `\`${name}\` is defined already${where}`,
      'give one of them another name',
    );
    return true;
  }

  #isFullAt(place: SourceLine): boolean {
    if (this.#nodes.length < this.#maxNodes) return false;
    if (!this.#isFull)
      this.#note(
        'not-read',
        place,
        `the DAG has more than ${this.#maxNodes} nodes; the rest was not read`,
        'split the DAG',
      );
    this.#isFull = true;
    return true;
  }

  #defineSplice(command: DagCommand & { kind: 'splice' }, scope: DagScope): void {
    const { name, file, dir, place } = command;
    if (this.#isTaken(name, scope, place) || this.#isFullAt(place)) return;
    const folder = resolveIn(scope.folder, dir ?? '.');
    const splice = new DagScope(`${scope.prefix}${name}+`, folder, scope.dagman, this.graph);
    scope.splices.set(name, splice);
    this.#readInner(resolveIn(folder, file), 'the DAG of the splice', splice, place);
  }

  #readInner(file: string, what: string, scope: DagScope, place: SourceLine): void {
    if (this.#open.includes(file)) {
      this.#note('recursion', place, `${file} includes itself`, 'delete the line');
      return;
    }
    if (this.#isTooDeepAt(place)) return;
    const text = this.#read(file);
    if (text === undefined)
      this.#note(
        'missing-file',
        place,
        `${what}, ${file}, is not there`,
        'correct its name, or write the file',
      );
    else this.readFile(text, file, scope);
  }

  #apply(command: DagCommand, scope: DagScope): void {
    const { place } = command;
    switch (command.kind) {
      case 'include':
        this.#readInner(resolveIn(scope.folder, command.file), 'the included file', scope, place);
        return;
      case 'edges':
        this.graph.connect(
          this.#endsOf(command.parents, 'last', scope, place),
          this.#endsOf(command.children, 'first', scope, place),
        );
        return;
      case 'connect':
        this.#note(
          'not-read',
          place,
          'CONNECT orders the nodes of two splices by their pins, which were not read',
          'write PARENT and CHILD with the names of the splices, or check their order by hand',
        );
        return;
      case 'config':
        this.#configs.push({ file: resolveIn(scope.dagman.folder, command.file), place });
        return;
      case 'node':
      case 'splice':
      case 'description':
      case 'reject':
      case 'other':
        return;
      default:
        for (const node of this.#named(command.node, scope, place)) this.#set(node, command);
    }
  }

  #set(node: DagNode, command: DagCommand & { node: string }): void {
    const { place } = command;
    if (!isOrdered(node) && isForJobs(keywordOf(command), node)) {
      const [word, type] = [keywordOf(command), node.type.toUpperCase()];
      this.#note(
        'misused-node',
        place,
        `${word} cannot be used with the ${type} node ${node.name}`,
        'delete the line',
      );
      return;
    }
    if (command.kind === 'vars')
      for (const [name, value] of command.pairs)
        node.vars.push({ name, value, append: command.append, place });
    else if (command.kind === 'script') this.#setScript(node, command);
    else if (command.kind === 'done') node.done = true;
  }

  #setScript(node: DagNode, { when, command, node: named, place }: DagCommand & { kind: 'script' }): void {
    const before = node.scripts.get(when);
    if (before !== undefined && before.command !== command && !isAllNodes(named))
      this.#note(
        'script-replaced',
        place,
        `${node.name} has two ${when} scripts: DAGMan runs only \`${command}\`, ` +
          `not \`${before.command}\` of line ${before.place.line}`,
        'call both from one script, or delete one of the lines',
      );
    node.scripts = new Map(node.scripts).set(when, { command, place });
  }

  /** The nodes of a PARENT or CHILD list; a splice, or an inner DAG as a parent, stands for its last or first ones. */
  #endsOf(names: readonly string[], end: 'first' | 'last', scope: DagScope, place: SourceLine): number[] {
    const only = names.length === 1 ? scope.nodes.get(names[0] ?? '') : undefined;
    if (only?.type === 'job') return [only.index];
    const found = new Set<number>();
    for (const name of names) {
      const splice = scope.splices.get(name);
      const node = scope.nodes.get(name);
      if (splice !== undefined) for (const { index } of splice.ends[end]) found.add(index);
      else if (node === undefined) this.#unknown(name, scope, place);
      else if (isOrdered(node)) {
        found.add(node.index);
        const inner = end === 'last' ? scope.inner.get(name) : undefined;
        if (inner !== undefined) for (const { index } of lastOf(inner)) found.add(index);
      } else {
        const message = `the ${node.type.toUpperCase()} node ${name} cannot have parents or children`;
        this.#note('misused-node', place, message, `take ${name} out of the line`);
      }
    }
    return [...found];
  }

  #named(name: string, scope: DagScope, place: SourceLine): DagNode[] {
    if (isAllNodes(name)) {
      const all = [...scope.nodes.values()].filter(isOrdered);
      const message = 'ALL_NODES stands for no node here: FINAL nodes and those of splices do not count';
      const fix = 'delete the line, or move it into the DAG of the splice';
      if (all.length === 0) this.#note('unknown-node', place, message, fix);
      return all;
    }
    const node = scope.nodes.get(name);
    if (node !== undefined) return [node];
    this.#unknown(name, scope, place);
    return [];
  }

  #unknown(name: string, scope: DagScope, place: SourceLine): void {
    const known = [...scope.nodes.keys(), ...scope.splices.keys()];
    const close = known.length > maxCompared ? undefined : nearest(name, known);
    const inSplice = scope.splices.has(name.split('+', 1)[0] ?? '');
    const fix = inSplice
      ? 'a node of a splice can be named only in the DAG of the splice: move the line there'
      : `${close === undefined ? '' : `did you mean ${close}? Else `}add \`JOB ${name} …\`, or delete the name`;
    this.#note('unknown-node', place, `there is no node ${name}`, fix);
  }
}

/** As in DAGMan, a later value takes the place of the first one. */
function lastVars(all: DagNode['vars']): DagNode['vars'] {
  const vars = new Map<string, DagNode['vars'][number]>();
  for (const one of all) vars.set(one.name, { ...one, append: vars.get(one.name)?.append ?? one.append });
  return [...vars.values()];
}

/** Many nodes have none, and a map takes much memory. */
const noScripts: DagNode['scripts'] = new Map();

/** Comparing a name with more nodes than this takes too long for a hint. */
const maxCompared = 5000;

const resolveIn = (folder: string, name: string): string =>
  posix.isAbsolute(name) ? posix.normalize(name) : posix.join(folder, name);

/** DAGMan refuses these for FINAL, PROVISIONER and SERVICE nodes. */
const isForJobs = (word: string, { type }: DagNode): boolean =>
  ['RETRY', 'PRIORITY', 'CATEGORY', 'DONE', type === 'final' ? 'ABORT-DAG-ON' : ''].includes(word);

const keywordOf = (command: DagCommand & { node: string }): string =>
  command.kind === 'setting' ? command.keyword : command.kind.toUpperCase();

/** The names of one DAG: the main file with what it includes, or one splice. */
class DagScope {
  readonly nodes = new Map<string, DagNode>();
  readonly splices = new Map<string, DagScope>();
  /** By the name of the SUBDAG node. */
  readonly inner = new Map<string, DagScope>();
  readonly prefix: string;
  readonly folder: string;
  readonly dagman: Dagman;
  /** Its nodes without parents, or without children, before the DAG around it connects them. */
  ends: { first: DagNode[]; last: DagNode[] } = { first: [], last: [] };
  readonly #graph: DagGraph;

  constructor(prefix: string, folder: string, dagman: Dagman, graph: DagGraph) {
    this.prefix = prefix;
    this.folder = folder;
    this.dagman = dagman;
    this.#graph = graph;
  }

  /** Its own nodes and those of its splices and inner DAGs. */
  *all(): Iterable<DagNode> {
    yield* this.nodes.values();
    for (const one of [...this.splices.values(), ...this.inner.values()]) yield* one.all();
  }

  recordEnds(): void {
    const inGraph = [...this.all()].filter(isOrdered);
    this.ends = {
      first: inGraph.filter(({ index }) => !this.#graph.hasParents(index)),
      last: inGraph.filter(({ index }) => !this.#graph.hasChildren(index)),
    };
  }
}

/** Whether it can have parents and children. */
const isOrdered = ({ type }: DagNode): boolean => type === 'job' || type === 'subdag';

/** The nodes that an inner DAG ends with: its FINAL node too. */
const lastOf = (inner: DagScope | undefined): DagNode[] =>
  inner === undefined
    ? []
    : [...inner.ends.last, ...[...inner.nodes.values()].filter(({ type }) => type === 'final')];

/** What the newest rescue file of a DAG says. */
export interface Rescue {
  file: string;
  /** Who uses it. */
  dagman: Dagman;
  /** Nodes that failed, as its comments list them. */
  failed: string[];
  /** Nodes that `condor_submit_dag` would run. */
  rerun: DagNode[];
  /** Nodes that are done and not run again. */
  done: DagNode[];
  /** Names that the DAG does not have, each with its line: DAGMan then refuses to start. */
  unknown: { name: string; line: number }[];
}

/** DAGMan's own limit is 999; the default is 100. */
const maxRescues = 999;

/** The newest rescue file, which DAGMan uses by itself. */
export function newestRescue(dag: string, exists: (name: string) => boolean): string | undefined {
  let newest: string | undefined;
  for (let number = 1, missing = 0; number <= maxRescues && missing < 10; number++) {
    const name = `${dag}.rescue${String(number).padStart(3, '0')}`;
    if (exists(name)) [newest, missing] = [name, 0];
    else missing += 1;
  }
  return newest;
}

/** A rescue file marks nodes as DONE; DAGMan reads it in combination with the DAG file. */
export function readRescue(file: string, text: string, dag: Dag, dagman: Dagman): Rescue {
  const nodes = dag.nodes.filter((node) => node.dagman === dagman);
  const nodeOf = (name: string): DagNode | undefined => dag.byName.get(dagman.prefix + name);
  const named = parseDag(text, file).commands.flatMap((command) =>
    command.kind === 'done' ? [command] : [],
  );
  const done = new Set(named.flatMap(({ node }) => nodeOf(node) ?? []));
  const isDone = (node: DagNode): boolean => node.done || (done.has(node) && node.type !== 'final');
  const [, list = ''] = /^#\s*Nodes that failed:.*\n#\s*(.*)<ENDLIST>/m.exec(text) ?? [];
  return {
    file,
    dagman,
    failed: list
      .split(',')
      .filter((name) => name !== '')
      .map((name) => dagman.prefix + name),
    rerun: nodes.filter((node) => !isDone(node)),
    done: nodes.filter(isDone),
    unknown: named.flatMap(({ node, place: { line } }) =>
      nodeOf(node) === undefined ? [{ name: node, line }] : [],
    ),
  };
}

/** What `condor_submit_dag` would do with the newest rescue file, or an inner DAG with its own. */
export function rescueLines({ file, dagman, failed, rerun, done }: Rescue): string[] {
  const who = dagman.node === undefined ? 'condor_submit_dag' : printable(dagman.node.name);
  const names = (nodes: readonly DagNode[]): string =>
    firstFew(
      nodes.map(({ name }) => printable(name)),
      8,
    );
  const again = rerun.filter(({ name }) => failed.includes(name));
  const others = rerun.filter(({ name }) => !failed.includes(name));
  const total = counted(rerun.length + done.length, 'node');
  return given(
    `${who} would use ${printable(file)} and run ${rerun.length} of ${total}`,
    again.length > 0 && `  failed before: ${names(again)}`,
    others.length > 0 && `  not done: ${names(others)}`,
    done.length > 0 && `  done, not run again: ${names(done)}`,
  );
}
