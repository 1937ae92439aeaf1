import { printable } from '../../base/printable.ts';
import type { LogEvent } from '../../eventlog/events.ts';
import { Fault } from '../../fault/fault.ts';

/**
 * Selects the events of the jobs that a user names, as a log is read: `12.3`, `12` for a cluster, or a DAG node, whose
 * clusters are all one job. Nothing is kept of other jobs but the ids of nodes.
 */
export class ChosenJobs {
  readonly #word: string;
  readonly #cluster: number;
  readonly #proc: number | undefined;
  readonly #nodes = new Map<string, string[]>();
  readonly #ids = new Set<string>();
  #areNodesKnown = false;
  /** Whether a chosen job is a node, of which earlier clusters were passed over. */
  isIncomplete = false;

  constructor(word: string) {
    const [, cluster, proc] = /^(\d{1,15})(?:\.(\d{1,15}))?(?:\.\d+)?$/.exec(word) ?? [];
    this.#word = word;
    this.#cluster = cluster === undefined ? NaN : Number(cluster);
    this.#proc = proc === undefined ? undefined : Number(proc);
  }

  readonly has = (event: LogEvent): boolean => {
    if (event.kind === 'submit' && !this.#areNodesKnown) this.#learn(event);
    return this.#isNamed(event) || (this.#ids.size > 0 && this.#ids.has(idOf(event)));
  };

  /** The logs are read again: now all clusters of the chosen nodes are known. */
  readAgain(): void {
    this.#areNodesKnown = true;
  }

  /** Why nothing was found. */
  fault(logs: string): Fault {
    if (Number.isNaN(this.#cluster))
      return new Fault('usage', `"${printable(this.#word)}" names no job and no DAG node in ${logs}`, {
        about: this.#word,
        fix: 'name a job like 12.3, a cluster like 12, or a DAG node; to see all jobs, leave it out',
      });
    return new Fault('usage', `there is no job ${printable(this.#word)} in ${logs}`, {
      about: this.#word,
      fix: 'to see all jobs, leave out the job',
    });
  }

  #learn(event: LogEvent & { kind: 'submit' }): void {
    const { dagNode } = event.details;
    if (dagNode === undefined) return;
    const ids = this.#nodes.get(dagNode) ?? [];
    const isNew = !ids.some((id) => this.#ids.has(id));
    ids.push(idOf(event));
    this.#nodes.set(dagNode, ids);
    if (isNew && dagNode !== this.#word && !this.#isNamed(event)) return;
    if (isNew && ids.length > 1) this.isIncomplete = true;
    for (const id of ids) this.#ids.add(id);
  }

  #isNamed({ cluster, proc }: LogEvent): boolean {
    return this.#cluster === cluster && (this.#proc === undefined || this.#proc === proc);
  }
}

const idOf = ({ cluster, proc }: LogEvent): string => `${cluster}.${proc}`;
