import type { Dagman } from './dag.ts';
import type { DagRun } from './not-submitted.ts';

/** A job of the logs: its node as its DAGMan names it, and the DAG file if that is known. */
interface NodeJob {
  node?: string;
  dag?: string;
}

/** The jobs with their nodes named as in `run`, whose inner DAGs have logs of their own. */
export function nodeJobs<Job extends NodeJob>({ dag, shownAs }: DagRun, jobs: readonly Job[]): Job[] {
  if (dag.dagmans.length === 1) return [...jobs];
  const byFile = new Map(dag.dagmans.map((dagman) => [shownAs(dagman.file), dagman]));
  return jobs.map((job) => {
    const { node } = job;
    if (node === undefined) return job;
    const submitter =
      byFile.get(job.dag ?? '') ?? dag.dagmans.find((one) => dag.byName.has(one.prefix + node));
    const name = `${submitter?.prefix ?? ''}${node}`;
    // One that has its name in `run` already keeps it.
    return dag.byName.has(name) ? { ...job, node: name } : job;
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
