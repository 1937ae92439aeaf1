import { nearest } from '../../base/nearest.ts';
import { printable } from '../../base/printable.ts';
import { nodeJobs, startedInner } from '../../dag/node-jobs.ts';
import { type NodeState, notSubmittedReasons } from '../../dag/not-submitted.ts';
import type { Explanation } from '../../diagnosis/explanation.ts';
import { Fault } from '../../fault/fault.ts';
import { explainNode } from '../../why/explain-node.ts';
import { explainStory } from '../../why/explain-story.ts';
import { readDagLogs } from '../report/dag-source.ts';
import type { Cli } from '../cli.ts';
import { jobsToExplain } from './explain-log.ts';

/** Explains the nodes of a DAG, also those that have no job; with a name, only that one. */
export async function explainDag(cli: Cli, file: string, name: string | undefined): Promise<Explanation[]> {
  const { run, logs } = await readDagLogs(cli, file);
  const { dag } = run;
  if (name !== undefined && !dag.byName.has(name)) throw noSuchNode(file, name, dag.byName.keys());
  const read =
    logs.length === 0
      ? []
      : (await jobsToExplain(logs, undefined, { signal: cli.signal, isQuoted: true })).jobs;
  const jobs = nodeJobs(run, read)
    .filter(({ node }) => node !== undefined && dag.byName.has(node))
    .map((job) => explainStory(job));
  const states = new Map(jobs.map(({ node = '', standing }) => [node, stateOf(standing)]));
  const reasonOf = notSubmittedReasons(run, (one) => states.get(one));
  const started = startedInner(run, jobs);
  const explained = dag.nodes
    .filter((node) => !states.has(node.name) && !started.has(node.name) && !node.noop)
    .map((node) => explainNode(run, node, reasonOf(node)));
  return [...jobs, ...explained]
    .map((one) => (started.has(one.node ?? '') ? withInner(one, jobs, file) : one))
    .filter(({ node }) => name === undefined || node === name);
}

/** The job of a SUBDAG node is DAGMan: it fails because a node of the inner DAG did. */
function withInner(of: Explanation, jobs: readonly Explanation[], file: string): Explanation {
  const inner = jobs.find(
    ({ node = '', standing }) => node.startsWith(`${of.node ?? ''}/`) && stateOf(standing) === 'failed',
  );
  if (inner?.node === undefined || stateOf(of.standing) !== 'failed') return of;
  return {
    ...of,
    because: [`Its inner DAG failed, because ${inner.node} did.`],
    advice: [`See why: updraft why ${file} ${inner.node}`],
  };
}

function stateOf(standing: Explanation['standing']): NodeState {
  if (standing === 'succeeded') return 'done';
  return standing === 'failed' || standing === 'removed' ? 'failed' : 'active';
}

function noSuchNode(file: string, name: string, known: Iterable<string>): Fault {
  const close = nearest(name, known);
  return new Fault('usage', `${printable(file)} has no node ${printable(name)}`, {
    about: name,
    fix: close === undefined ? 'name a node as its JOB line does' : `did you mean ${printable(close)}?`,
  });
}
