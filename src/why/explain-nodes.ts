import {
  type DagNode,
  type DagRun,
  nodeJobs,
  type NodeState,
  notSubmittedReasons,
  startedInner,
  worseState,
} from '@updraft/htcondor/dag';
import type { Explanation } from '../diagnosis/explanation.ts';
import { endAsDone, type JobHistory } from '../history/history.ts';
import { explainNode, toContinue } from './explain-node.ts';
import { explainStory } from './explain-story.ts';

/** Explains the nodes of a DAG, also those that have no job. `file`: the DAG as a command names it. Pure. */
export function explainNodes(run: DagRun, read: readonly JobHistory[], file: string): Explanation[] {
  const { dag } = run;
  const jobs = nodeJobs(run, read, endAsDone).flatMap((job) => {
    const node = dag.byName.get(job.node ?? '');
    return node === undefined ? [] : [inDag(run, node, explainStory(job))];
  });
  const states = new Map<string, NodeState>();
  for (const { node = '', standing } of jobs)
    states.set(node, worseState(states.get(node), stateOf(standing)));
  const reasonOf = notSubmittedReasons(run, (one) => states.get(one));
  const started = startedInner(run, jobs);
  const explained = dag.nodes
    .filter((node) => !states.has(node.name) && !started.has(node.name))
    .map((node) => explainNode(run, node, reasonOf(node), file));
  return [
    ...jobs.map((one) => (started.has(one.node ?? '') ? withInner(one, jobs, file) : one)),
    ...explained,
  ];
}

/** What DAGMan did to a job, rather than a user. */
function inDag({ ends }: DagRun, { type, dagman }: DagNode, one: Explanation): Explanation {
  if (type === 'service' && one.standing === 'succeeded')
    return { ...one, because: ['It is a SERVICE node: DAGMan ended it with the DAG.'], advice: [] };
  const end = ends.get(dagman);
  if (one.standing !== 'removed' || one.cause !== 'user' || end?.isNews !== true) return one;
  return {
    ...one,
    title: 'it was removed with its DAG',
    titles: 'they were removed with their DAG',
    because: [`DAGMan ${end.how}: the job was removed with its DAG.`, ...one.because.slice(1)],
    advice: [toContinue(end)],
  };
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
  return standing === 'failed' || standing === 'removed' ? standing : 'active';
}
