import { posix } from 'node:path';
import { nearest, type SourceLine } from '@updraft/base';
import type { DagCommand, InlineDescription } from './dag-command.ts';
import { ownName, type Dag, type Dagman, type DagNode, type DagProblem, type DagProblemKind } from './dag.ts';
import { isOrdered, lastOf, DagScope } from './dag-scope.ts';
import { DagGraph } from './graph.ts';
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
  readonly #limits = new Map<string, { limit: number; place: SourceLine }>();
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
      limits: this.#limits,
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
      category: undefined,
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
    this.#note('too-big', place, `DAGs inside DAGs were read ${maxDepth} deep`, 'join some of them');
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
        'too-big',
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
        this.#connect(command, scope);
        return;
      case 'maxjobs':
        this.#limits.set(categoryIn(scope, command.category), { limit: command.limit, place });
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
        for (const node of this.#named(command.node, scope, place)) this.#set(node, command, scope);
    }
  }

  #set(node: DagNode, command: DagCommand & { node: string }, scope: DagScope): void {
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
    else if (command.kind === 'category') node.category = categoryIn(scope, command.category);
    else if (command.kind === 'done') node.done = true;
    else if (command.kind === 'pin') {
      const pins = scope.pins[command.direction];
      pins.set(command.number, [...(pins.get(command.number) ?? []), node]);
    }
  }

  #setScript(node: DagNode, { when, command, node: named, place }: DagCommand & { kind: 'script' }): void {
    const before = node.scripts.get(when);
    if (before !== undefined && before.command !== command && !isAllNodes(named))
      this.#note(
        'script-replaced',
        place,
        `${node.name} has two ${when} scripts: DAGMan runs only \`${command}\`, not \`${before.command}\` of line ${before.place.line}`,
        'call both from one script, or delete one of the lines',
      );
    node.scripts = new Map(node.scripts).set(when, { command, place });
  }

  /** The nodes of a PARENT or CHILD list; a splice stands for its last or first nodes, so does an inner DAG as a parent. */
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

  #connect({ from, to, place }: DagCommand & { kind: 'connect' }, scope: DagScope): void {
    const [parent, child] = [from, to].map((name) => scope.splices.get(name));
    for (const [name, splice] of [[from, parent] as const, [to, child] as const])
      if (splice === undefined)
        this.#note('unknown-node', place, `there is no splice ${name}`, 'CONNECT takes two names of SPLICE');
    if (parent === undefined || child === undefined) return;
    const indexes = (nodes: DagNode[] = []): number[] => nodes.map(({ index }) => index);
    const [outs, ins] = [parent.pins.out, child.pins.in];
    let pin = 1;
    for (; outs.has(pin) && ins.has(pin); pin++)
      this.graph.connect(indexes(outs.get(pin)), indexes(ins.get(pin)));
    const isMatch = pin > 1 && outs.size < pin && ins.size < pin;
    if (!isMatch)
      this.#note(
        'misused-node',
        place,
        `the PIN_OUTs of ${from} and the PIN_INs of ${to} do not match (pin ${pin})`,
        'give both splices the same pins, numbered from 1 without gaps',
      );
    const open = child.ends.first.find(({ index }) => !this.graph.hasParents(index));
    if (isMatch && open !== undefined)
      this.#note(
        'misused-node',
        place,
        `${open.name} has no PIN_IN and no parent, so CONNECT cannot put all of ${to} after ${from}`,
        `add PIN_IN for it in the DAG of ${to}, or a PARENT line for ${to} before this one`,
      );
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

/** Categories of a splice are its own, unless their names begin with `+`. */
const categoryIn = ({ prefix, dagman }: DagScope, name: string): string =>
  name.startsWith('+') ? dagman.prefix + name : prefix + name;
