import { adviceFor, causeTitles, sentence, type Cause } from '../codes/causes.ts';
import { shellQuote } from '@updraft/base';
import {
  type DagmanEnd,
  type DagNode,
  type DagRun,
  type FailedScript,
  type NotSubmitted,
  notSubmittedText,
} from '@updraft/htcondor/dag';
import type { Explanation, JobStatus } from '../diagnosis/explanation.ts';
import { safeLine } from '../diagnosis/quote-event.ts';
import { explainReason } from './explain-reason.ts';

/** Explains why a node of a DAG has no job in the logs. `file`: the DAG as a command names it. Pure. */
export function explainNode(run: DagRun, node: DagNode, reason: NotSubmitted, file: string): Explanation {
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
      return explain('succeeded', 'none', { advice: [] });
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
export const toContinue = (end: DagmanEnd | undefined): string => end?.advice ?? adviceFor('node-blocked');

const standings = { active: 'waiting', done: 'succeeded', failed: 'failed', removed: 'removed' } as const;
const noMore = 'DAGMan’s .dagman.out says no more: name the event log of the job, if there is one.';

function preFailure({ scripts }: DagNode, { how, notStarted }: FailedScript): string[] {
  const command = scripts.get('PRE')?.command;
  const name = command === undefined ? '' : ` (\`${safeLine(command)}\`)`;
  return [
    `Its PRE script${name} ${how}, so DAGMan did not submit its job.`,
    ...(notStarted === undefined ? [] : [`DAGMan could not start it: ${safeLine(notStarted)}`]),
  ];
}
