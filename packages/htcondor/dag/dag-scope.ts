import type { Dagman, DagNode } from './dag.ts';
import type { DagGraph } from './graph.ts';

/** The names of one DAG: the main file with what it includes, or one splice. */
export class DagScope {
  readonly nodes = new Map<string, DagNode>();
  readonly splices = new Map<string, DagScope>();
  /** By the name of the SUBDAG node. */
  readonly inner = new Map<string, DagScope>();
  readonly pins = { in: new Map<number, DagNode[]>(), out: new Map<number, DagNode[]>() };
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
export const isOrdered = ({ type }: DagNode): boolean => type === 'job' || type === 'subdag';

/** The nodes that an inner DAG ends with: its FINAL node too. */
export const lastOf = (inner: DagScope | undefined): DagNode[] =>
  inner === undefined
    ? []
    : [...inner.ends.last, ...[...inner.nodes.values()].filter(({ type }) => type === 'final')];
