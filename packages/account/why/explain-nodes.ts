import {
  type DagmanEnd,
  type DagNode,
  type DagRun,
  type FailedScript,
  nodeJobs,
  type NodeState,
  type NotSubmitted,
  notSubmittedReasons,
  notSubmittedText,
  startedInner,
  worseState,
} from '@updraft/htcondor/dag';
import type { Explanation, JobStatus } from '../diagnosis/explanation.ts';
import { endAsDone, type JobHistory } from '../history/history.ts';
import { explainStory } from './explain-story.ts';
import { adviceFor, type Cause, causeTitles, sentence } from '../codes/causes.ts';
import { shellQuote, given } from '@updraft/base';
import { safeLine } from '../diagnosis/quote-event.ts';
import { explainReason } from './explain-reason.ts';

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
  if (type === 'service' && one.standing === 'success')
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
  if (standing === 'success') return 'done';
  return standing === 'failed' || standing === 'removed' ? standing : 'active';
}

/** Explains why a node of a DAG has no job in the logs. `file`: the DAG as a command names it. Pure. */
function explainNode(run: DagRun, node: DagNode, reason: NotSubmitted, file: string): Explanation {
  const why = notSubmittedText(reason);
  const explain = (standing: JobStatus, cause: Cause, more: Partial<Explanation> = {}): Explanation => ({
    job: node.name,
    node: node.name,
    standing,
    cause,
    ...causeTitles(cause),
    because: [sentence(why)],
    evidence: [],
    doing: [],
    advice: [adviceFor(cause)],
    ...more,
  });
  const out = `${node.dagman.file}.dagman.out`;
  switch (reason.why) {
    case 'done':
    case 'noop':
      return explain('success', 'none', { advice: [] });
    case 'not-logged': {
      const { state, hold } = reason;
      const held = hold && explainReason(hold.text);
      const standing = held !== undefined && state === 'active' ? 'held' : standings[state];
      const isFine = state === 'active' || state === 'done';
      return explain(standing, held?.cause ?? (isFine ? 'none' : 'unknown'), {
        ...(isFine || held !== undefined ? {} : { title: 'DAGMan’s .dagman.out does not say why' }),
        because: [sentence(why), ...(held?.because ?? [])],
        evidence: hold ? [{ file: out, at: hold.at, lines: [safeLine(hold.text)] }] : [],
        advice: [...(held?.advice ?? []), noMore],
      });
    }
    case 'pre-failed':
      return explain('failed', 'script-failed', {
        because: preFailure(node, reason.script),
        evidence: [{ file: out, at: reason.script.at, lines: [safeLine(reason.script.line)] }],
      });
    case 'submit-failed':
      return explain('failed', 'node-blocked', {
        because: [`DAGMan could not submit its job: ${safeLine(reason.text)}`],
        evidence: [{ file: out, at: reason.at, lines: [safeLine(reason.text)] }],
        advice: [`Check its submit file: updraft adopt ${shellQuote(file)}`],
      });
    case 'parent-failed':
      return explain('waiting', 'node-blocked', {
        because: [`It was not submitted: ${why}.`],
        advice: [
          `See why: updraft why ${shellQuote(file)} ${shellQuote(reason.root.name)}`,
          toContinue(run.ends.get(node.dagman)),
        ],
      });
    case 'not-yet':
      return explain('waiting', 'node-blocked', {
        because: [`It was not submitted: ${why}.`],
        advice: reason.dagman === undefined ? [] : [toContinue(reason.dagman)],
      });
  }
}

/** How to run what is left of a DAG. */
const toContinue = (end: DagmanEnd | undefined): string => end?.advice ?? adviceFor('node-blocked');

const standings = { active: 'waiting', done: 'success', failed: 'failed', removed: 'removed' } as const;
const noMore = 'DAGMan’s .dagman.out says no more: name the event log of the job, if there is one.';

function preFailure({ scripts }: DagNode, { how, notStarted }: FailedScript): string[] {
  const command = scripts.get('PRE')?.command;
  const name = command === undefined ? '' : ` (\`${safeLine(command)}\`)`;
  return given(
    `Its PRE script${name} ${how}, so DAGMan did not submit its job.`,
    notStarted !== undefined && `DAGMan could not start it: ${safeLine(notStarted)}`,
  );
}
