import { nodeJobs, startedInner } from '../dag/node-jobs.ts';
import { type DagRun, type NodeState, notSubmittedReasons, worseState } from '../dag/not-submitted.ts';
import type { Explanation } from '../diagnosis/explanation.ts';
import type { JobHistory } from '../history/history.ts';
import { explainNode } from './explain-node.ts';
import { explainStory } from './explain-story.ts';

/** Explains the nodes of a DAG, also those that have no job. `file`: the DAG as a command names it. Pure. */
export function explainNodes(run: DagRun, read: readonly JobHistory[], file: string): Explanation[] {
  const { dag } = run;
  const jobs = nodeJobs(run, read)
    .filter(({ node }) => node !== undefined && dag.byName.has(node))
    .map((job) => explainStory(job));
  const states = new Map<string, NodeState>();
  for (const { node = '', standing } of jobs)
    states.set(node, worseState(states.get(node), stateOf(standing)));
  const reasonOf = notSubmittedReasons(run, (one) => states.get(one));
  const started = startedInner(run, jobs);
  const explained = dag.nodes
    .filter((node) => !states.has(node.name) && !started.has(node.name))
    .map((node) => explainNode(run, node, reasonOf(node)));
  return [
    ...jobs.map((one) => (started.has(one.node ?? '') ? withInner(one, jobs, file) : one)),
    ...explained,
  ];
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
