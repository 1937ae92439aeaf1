import { adviceFor, causeTitle, sentence, type Cause } from '../codes/causes.ts';
import type { DagNode } from '../dag/dag.ts';
import type { FailedScript } from '../dag/dagman-log.ts';
import { type DagRun, type NotSubmitted, notSubmittedText } from '../dag/not-submitted.ts';
import type { Evidence, Explanation, JobStatus } from '../diagnosis/explanation.ts';
import { safeLine } from '../diagnosis/quote-event.ts';

/** Explains why a node of a DAG has no job in the logs. Pure. */
export function explainNode(run: DagRun, node: DagNode, reason: NotSubmitted): Explanation {
  const why = notSubmittedText(reason);
  const explain = (
    standing: JobStatus,
    cause: Cause,
    more: { because?: string[]; evidence?: Evidence[]; advice?: string[] } = {},
  ): Explanation => ({
    job: node.name,
    node: node.name,
    standing,
    cause,
    title: causeTitle(cause),
    because: more.because ?? [sentence(why)],
    evidence: more.evidence ?? [],
    doing: [],
    advice: more.advice ?? [adviceFor(cause)],
  });
  const out = `${node.dagman.file}.dagman.out`;
  switch (reason.why) {
    case 'done':
    case 'noop':
      return explain('succeeded', 'none', { advice: [] });
    case 'not-logged': {
      const standing = { submitted: 'waiting', succeeded: 'succeeded', failed: 'failed' } as const;
      return explain(standing[reason.state], reason.state === 'failed' ? 'unknown' : 'none', {
        advice: ['DAGMan’s .dagman.out says no more: name the event log of the job, if there is one.'],
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
        advice: [`Check its submit file: updraft adopt ${run.dag.file}`],
      });
    case 'parent-failed':
      return explain('waiting', 'node-blocked', {
        because: [`It was not submitted: ${why}.`],
        advice: [
          `See why that one failed: updraft why ${run.dag.file} ${reason.root.name}`,
          adviceFor('node-blocked'),
        ],
      });
    case 'not-yet':
      return explain('waiting', 'node-blocked', {
        because: [`It was not submitted yet: ${why}.`],
        advice: [],
      });
  }
}

function preFailure({ scripts }: DagNode, { how, notStarted }: FailedScript): string[] {
  const command = scripts.get('PRE')?.command;
  const name = command === undefined ? '' : ` (\`${safeLine(command)}\`)`;
  return [
    `Its PRE script${name} ${how}, so DAGMan did not submit its job.`,
    ...(notStarted === undefined ? [] : [`DAGMan could not start it: ${safeLine(notStarted)}`]),
  ];
}
