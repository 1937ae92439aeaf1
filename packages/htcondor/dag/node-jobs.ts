import type { Dagman } from './dag.ts';
import { nodeIn, type DagRun, isDoneAnyway } from './not-submitted.ts';

/** A job of the logs: its node as its DAGMan names it, and the DAG file if that is known. */
interface NodeJob {
  node?: string;
  dag?: string;
  outcome?: string;
}

/**
 * The jobs with their nodes named as in `run`, whose inner DAGs have logs of their own. `asDone` makes a success of one
 * whose node DAGMan counts as done.
 */
export function nodeJobs<Job extends NodeJob>(
  run: DagRun,
  jobs: readonly Job[],
  asDone: (job: Job) => Job,
): Job[] {
  const { dag, shownAs } = run;
  const byFile = new Map(dag.dagmans.map((dagman) => [shownAs(dagman.file), dagman]));
  return jobs.flatMap((job) => {
    const { node = '' } = job;
    const submitter = byFile.get(job.dag ?? '') ?? dag.dagmans.find((one) => nodeIn(dag, one, node));
    // One that has its name in `run` already keeps it.
    const known = (submitter && nodeIn(dag, submitter, node)) ?? dag.byName.get(node);
    // One of another DAG file that DAGMan ran together with this one is left out.
    if (known === undefined) return /^\d+\./.test(node) ? [] : job;
    const named = known.name === node ? job : { ...job, node: known.name };
    // Nothing waits for a SERVICE node: DAGMan removes its job at the end.
    const isEnded = known.type === 'service' && job.outcome === 'removed';
    return isEnded || isDoneAnyway(run, known.name) ? asDone(named) : named;
  });
}

/** How people read the name of a node's job: by its node, and by its number too if the node has others. */
export const nodeJobLabel = (job: string, node: string, siblings: boolean | undefined): string =>
  siblings === true ? `${node} ${job}` : node;

/** The SUBDAG nodes whose inner nodes have jobs: their own job is DAGMan, which needs no slot. */
export function startedInner({ dag }: DagRun, jobs: readonly NodeJob[]): Set<string> {
  const started = new Set<Dagman>();
  for (const { node = '' } of jobs) {
    let dagman = dag.byName.get(node)?.dagman;
    while (dagman !== undefined && !started.has(dagman)) {
      started.add(dagman);
      dagman = dagman.node?.dagman;
    }
  }
  return new Set([...started].flatMap(({ node }) => node?.name ?? []));
}

/** How DAGMans ended where the nodes do not show it, the main one first, in words that follow `DAGMan`. */
export const dagmanEnds = ({ ends }: DagRun): string[] =>
  [...ends].flatMap(([{ node }, { how, isNews }]) =>
    isNews ? [node === undefined ? how : `of ${node.name} ${how}`] : [],
  );
