/**
 * The dependencies of a DAG's nodes, which are numbers. As in DAGMan, a command with several parents and several children
 * gets a vertex between them, so that 1,000 parents of 1,000 children are 2,000 edges and not a million.
 */
export class DagGraph {
  readonly #children: number[][] = [];
  readonly #parents: number[][] = [];
  readonly #joins = new Set<number>();

  addNode(): number {
    this.#parents.push([]);
    return this.#children.push([]) - 1;
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
        this.#children[parent]?.push(child);
        this.#parents[child]?.push(parent);
      }
  }

  parentsOf(node: number): number[] {
    const direct = (this.#parents[node] ?? []).flatMap((one) =>
      this.#joins.has(one) ? (this.#parents[one] ?? []) : one,
    );
    return [...new Set(direct)];
  }

  /** Whether one of two nodes waits for the other. */
  areInOrder(one: number, other: number): boolean {
    return this.#isBefore(one, other) || this.#isBefore(other, one);
  }

  #isBefore(first: number, last: number): boolean {
    const reached = new Set([first]);
    for (const node of reached) for (const child of this.#children[node] ?? []) reached.add(child);
    return reached.has(last);
  }

  /** Whether the node waits for nothing but `parent`. */
  waitsOnlyFor(parent: number, node: number): boolean {
    return this.#parents[node]?.every((one) => one === parent) ?? true;
  }

  hasParents(node: number): boolean {
    return (this.#parents[node]?.length ?? 0) > 0;
  }

  someParent(node: number, fits: (parent: number) => boolean): boolean {
    return (
      this.#parents[node]?.some((one) => (this.#joins.has(one) ? this.someParent(one, fits) : fits(one))) ??
      false
    );
  }

  hasChildren(node: number): boolean {
    return (this.#children[node]?.length ?? 0) > 0;
  }

  /** A value for each node from those of its parents, each computed once; nodes of cycles have none. */
  inherit<T>(valueOf: (node: number, ofParents: T[]) => T, joined: (ofParents: T[]) => T): Map<number, T> {
    const values = new Map<number, T>();
    for (const node of this.#order().ordered) {
      const ofParents = (this.#parents[node] ?? []).flatMap((parent) => values.get(parent) ?? []);
      values.set(node, this.#joins.has(node) ? joined(ofParents) : valueOf(node, ofParents));
    }
    return values;
  }

  /** Parents before children, and the nodes of cycles, which have no order. */
  #order(): { ordered: number[]; cyclic: Set<number> } {
    const waiting = this.#parents.map((parents) => parents.length);
    const ready = [...waiting.keys()].filter((node) => waiting[node] === 0);
    for (let at = 0; at < ready.length; at++)
      for (const child of this.#children[ready[at] ?? 0] ?? []) {
        waiting[child] = (waiting[child] ?? 0) - 1;
        if (waiting[child] === 0) ready.push(child);
      }
    const reached = new Set(ready);
    return {
      ordered: ready,
      cyclic: new Set([...waiting.keys()].filter((node) => !reached.has(node))),
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
      node = this.#parents[node]?.find((parent) => cyclic.has(parent)) ?? node;
    }
    const circle = walk
      .slice(seen.get(node))
      .filter((one) => !this.#joins.has(one))
      .reverse();
    const first = circle.indexOf(Math.min(...circle));
    return [...circle.slice(first), ...circle.slice(0, first)];
  }
}
