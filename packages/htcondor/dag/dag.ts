import { posix } from 'node:path';
import type { SourceLine } from '@updraft/base';
import type { InlineDescription, NodeType, ScriptTime } from './dag-command.ts';
import type { DagSyntaxError } from './parse-dag.ts';

/** One DAGMan and the DAG file it reads: that of the main DAG, or of an inner one (`SUBDAG EXTERNAL`). */
export interface Dagman {
  /** Relative to the main DAG's folder. */
  file: string;
  /** Where it runs, relative to that folder. */
  folder: string;
  /** What the names of its nodes begin with: empty in the main DAG, `B/` in the inner DAG of the node B. */
  prefix: string;
  /** The node of the DAG around it; undefined for the main DAG. */
  node: DagNode | undefined;
}

/** A node with everything that commands of the DAG say of it. */
export interface DagNode {
  /** Its number in the graph. */
  index: number;
  /** As its DAGMan and the logs name it, as in `S+A` for a node of a splice, after the prefix of its DAGMan. */
  name: string;
  dagman: Dagman;
  type: NodeType;
  /** The submit file as written, or the file of the inner DAG; empty for an inline description. */
  submit: string;
  inline: InlineDescription | undefined;
  /** Where its submit file is read and its scripts run, relative to the DAG's folder. */
  folder: string;
  noop: boolean;
  done: boolean;
  /** One for each name; the last VARS command wins. */
  vars: DagVariable[];
  scripts: ReadonlyMap<ScriptTime, DagScript>;
  place: SourceLine;
}

export interface DagVariable {
  name: string;
  value: string;
  /** Set after the submit file's own lines, not before them. */
  append: boolean;
  place: SourceLine;
}

export interface DagScript {
  command: string;
  place: SourceLine;
}

export type DagProblemKind =
  | 'syntax'
  | 'unknown-node'
  | 'duplicate-node'
  | 'misused-node'
  | 'missing-file'
  | 'recursion'
  | 'endless'
  | 'script-replaced'
  | 'rejected'
  | 'not-read';

/** Something that DAGMan refuses or warns of while it reads a DAG. */
export interface DagProblem extends DagSyntaxError {
  kind: DagProblemKind;
}

/** A DAG as DAGMan reads it, with its splices, included files and inner DAGs. */
export interface Dag {
  file: string;
  /** The main DAG's, then those of the inner DAGs that are there, outer ones first. */
  dagmans: Dagman[];
  nodes: DagNode[];
  readonly byName: ReadonlyMap<string, DagNode>;
  byIndex: readonly (DagNode | undefined)[];
  graph: DagGraph;
  /** By prefix and name; nodes refer to them instead of a submit file. */
  descriptions: ReadonlyMap<string, InlineDescription>;
  configs: { file: string; place: SourceLine }[];
  problems: DagProblem[];
}

/** Its name in its own DAG and in the logs. */
export const ownName = ({ name, dagman }: DagNode): string => name.slice(dagman.prefix.length);

/** Its submit file, or the file of its inner DAG, relative to the DAG's folder. */
export const submitFile = ({ folder, submit }: DagNode): string =>
  posix.isAbsolute(submit) ? submit : posix.join(folder, submit);

/** The nodes it waits for; for the first nodes of an inner DAG that is the SUBDAG node. */
export const parentsIn = ({ graph, byIndex }: Dag, { index }: DagNode): DagNode[] =>
  graph.parentsOf(index).flatMap((parent) => byIndex[parent] ?? []);
/** A list for each of many numbers, in few arrays: one of its own for each takes much memory and time. */
class Lists {
  readonly #first: number[] = [];
  readonly #last: number[] = [];
  readonly #values: number[] = [];
  readonly #next: number[] = [];

  /** The number of a new list. */
  add(): number {
    this.#last.push(-1);
    return this.#first.push(-1) - 1;
  }

  push(list: number, value: number): void {
    const at = this.#values.push(value) - 1;
    this.#next.push(-1);
    const last = this.#last[list] ?? -1;
    if (last === -1) this.#first[list] = at;
    else this.#next[last] = at;
    this.#last[list] = at;
  }

  hasAny(list: number): boolean {
    return (this.#first[list] ?? -1) !== -1;
  }

  lengths(): number[] {
    return this.#first.map((_, list) => this.of(list).length);
  }

  of(list: number): number[] {
    const values: number[] = [];
    for (let at = this.#first[list] ?? -1; at !== -1; at = this.#next[at] ?? -1)
      values.push(this.#values[at] ?? -1);
    return values;
  }
}

/**
 * The dependencies of a DAG's nodes, which are numbers. As in DAGMan, a command with several parents and several
 * children gets a vertex between them, so that 1,000 parents of 1,000 children are 2,000 edges and not a million.
 */
export class DagGraph {
  readonly #children = new Lists();
  readonly #parents = new Lists();
  readonly #joins = new Set<number>();

  addNode(): number {
    this.#parents.add();
    return this.#children.add();
  }

  connect(parents: readonly number[], children: readonly number[]): void {
    if (parents.length > 1 && children.length > 1) {
      const join = this.addNode();
      this.#joins.add(join);
      this.connect(parents, [join]);
      this.connect([join], children);
      return;
    }
    for (const parent of parents)
      for (const child of children) {
        this.#children.push(parent, child);
        this.#parents.push(child, parent);
      }
  }

  parentsOf(node: number): number[] {
    const direct = this.#parents
      .of(node)
      .flatMap((one) => (this.#joins.has(one) ? this.#parents.of(one) : one));
    return [...new Set(direct)];
  }

  /** Whether the node waits for nothing but `parent`. */
  waitsOnlyFor(parent: number, node: number): boolean {
    return this.#parents.of(node).every((one) => one === parent);
  }

  hasParents(node: number): boolean {
    return this.#parents.hasAny(node);
  }

  someParent(node: number, fits: (parent: number) => boolean): boolean {
    return this.#parents
      .of(node)
      .some((one) => (this.#joins.has(one) ? this.someParent(one, fits) : fits(one)));
  }

  hasChildren(node: number): boolean {
    return this.#children.hasAny(node);
  }

  /** A value for each node from those of its parents, each computed once; nodes of cycles have none. */
  inherit<T>(valueOf: (node: number, ofParents: T[]) => T, joined: (ofParents: T[]) => T): Map<number, T> {
    const values = new Map<number, T>();
    for (const node of this.#order().ordered) {
      const ofParents = this.#parents.of(node).flatMap((parent) => values.get(parent) ?? []);
      values.set(node, this.#joins.has(node) ? joined(ofParents) : valueOf(node, ofParents));
    }
    return values;
  }

  /** Parents before children, and the nodes of cycles, which have no order. */
  #order(): { ordered: number[]; cyclic: Set<number> } {
    const waiting = this.#parents.lengths();
    const ready = [...waiting.keys()].filter((node) => waiting[node] === 0);
    for (let at = 0; at < ready.length; at++)
      for (const child of this.#children.of(ready[at] ?? 0)) {
        waiting[child] = (waiting[child] ?? 0) - 1;
        if (waiting[child] === 0) ready.push(child);
      }
    return {
      ordered: ready,
      cyclic: new Set([...waiting.keys()].filter((node) => waiting[node] !== 0)),
    };
  }

  /** The nodes of one cycle, in order, from the one that was added first; undefined in a DAG without one. */
  cycle(): number[] | undefined {
    const { cyclic } = this.#order();
    const [start] = cyclic;
    if (start === undefined) return undefined;
    // Each of these nodes has a parent among them, so the walk to parents comes back to where it was.
    const seen = new Map<number, number>();
    const walk: number[] = [];
    let node = start;
    while (!seen.has(node)) {
      seen.set(node, walk.push(node) - 1);
      node = this.#parents.of(node).find((parent) => cyclic.has(parent)) ?? node;
    }
    const circle = walk
      .slice(seen.get(node))
      .filter((one) => !this.#joins.has(one))
      .reverse();
    const first = circle.indexOf(Math.min(...circle));
    return [...circle.slice(first), ...circle.slice(0, first)];
  }
}
