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
 * The dependencies of a DAG's nodes, which are numbers. As in DAGMan, a command with several parents and several children
 * gets a vertex between them, so that 1,000 parents of 1,000 children are 2,000 edges and not a million.
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

  /** Whether one of two nodes waits for the other. */
  areInOrder(one: number, other: number): boolean {
    return this.#isBefore(one, other) || this.#isBefore(other, one);
  }

  #isBefore(first: number, last: number): boolean {
    const reached = new Set([first]);
    for (const node of reached) for (const child of this.#children.of(node)) reached.add(child);
    return reached.has(last);
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
