import { defined } from '@updraft/base';
import type { Termination } from '@updraft/htcondor/eventlog';
import { attemptDiagnosis } from './attempt-diagnosis.ts';
import { type Cause, causeTitles, needsResubmission } from '../codes/causes.ts';
import { readPolicyHold } from '../codes/codes.ts';
import { diagnose, diagnosisOf, type Diagnosis } from '../diagnosis/diagnose.ts';
import { safeLine } from '../diagnosis/quote-event.ts';
import { explainRemoval } from './explain-removal.ts';
import { explainLoop, explainRunning, explainWaiting, loopOf } from './explain-under-way.ts';
import { adviceOf, explained, goodTitle, holdCount, nothingWrong, reconnects } from './build-explanation.ts';
import type { Explanation, Headline } from '../diagnosis/explanation.ts';
import { idInQueue, type AttemptHistory, type JobHistory } from '../history/history.ts';
import { siteOrMachine } from '../history/worker.ts';
import { attemptAt, detailsOf, streaksOf, describeStreaks, type Streak } from './past-attempts.ts';
import { formatSpan } from './format-span.ts';
import { describeExitAction, describeHoldAction, type RunRules } from './describe-action.ts';

/** Explains a job's state by its events; `rules` are those of Updraft's own runs. Pure. */
export function explainStory(job: JobHistory, rules?: RunRules): Explanation {
  return { ...explain(job, rules), ...identityOf(job) };
}

const identityOf = ({ node, siblings, log }: JobHistory): Pick<Headline, 'node' | 'siblings' | 'log'> =>
  defined({ node, siblings, log });

/** The headline of its explanation: of a job that exited, at a small part of the cost. */
export function headlineOf(job: JobHistory): Headline {
  const exited = exitedAttempt(job);
  if (exited === undefined) return explainStory(job);
  return { ...exitHeadline(job, exited), ...identityOf(job) };
}

function explain(job: JobHistory, rules: RunRules | undefined): Explanation {
  const { outcome, attempts } = job;
  const { removal } = detailsOf(job);
  if (removal !== undefined) return explainRemoval(job, removal, rules);
  if (outcome === 'held') return explainHold(job, rules);
  const exited = exitedAttempt(job);
  if (exited !== undefined) return explainExit(job, exited, rules);
  const last = attempts.at(-1);
  const streaks = streaksOf(attempts);
  const loop = loopOf(streaks);
  if (loop !== undefined) return explainLoop(job, loop, streaks, rules);
  return outcome === 'running' && last !== undefined
    ? explainRunning(job, last, streaks, rules)
    : explainWaiting(job, streaks, rules);
}

/** The last attempt, if the job ended with it. */
function exitedAttempt({ outcome, attempts, details }: JobHistory): AttemptHistory | undefined {
  const isOpen = outcome === 'held' || outcome === 'running' || outcome === 'waiting';
  return isOpen || details?.removal !== undefined ? undefined : attempts.at(-1);
}

function exitHeadline(job: JobHistory, last: AttemptHistory, diagnosis = lastDiagnosis(job, last)): Headline {
  const isGood = diagnosis.cause === 'none';
  return {
    job: job.id,
    standing: isGood ? 'succeeded' : 'failed',
    cause: diagnosis.cause,
    ...(isGood ? { title: goodTitle(last.number) } : causeTitles(diagnosis.cause)),
  };
}

function explainExit(job: JobHistory, last: AttemptHistory, rules: RunRules | undefined): Explanation {
  const diagnosis = lastDiagnosis(job, last);
  const isGood = diagnosis.cause === 'none';
  const streaks = streaksOf(job.attempts.slice(0, -1));
  const past = describeStreaks(streaks, isGood ? undefined : diagnosis);
  const count = job.attempts.length;
  const { end } = last.details ?? {};
  return {
    ...exitHeadline(job, last, diagnosis),
    because: [...saidOf(last, diagnosis), ...past.because, ...reconnects(job)],
    evidence: [...past.evidence, end?.evidence ?? detailsOf(job).last],
    doing: isGood ? [] : describeExitAction(count, exitOf(end?.termination), rules),
    advice: [
      ...adviceOf(diagnosis, job, rules),
      ...(isGood ? adviceOnLosses(streaks, job, rules) : []),
      ...(isGood && rules === undefined
        ? ['HTCondor sees only the exit code: check that the output is what you expect.']
        : []),
    ],
  };
}

/** An agent's own message does not say where that was. */
const saidOf = (attempt: AttemptHistory, { because }: Diagnosis): string[] =>
  attempt.fault === undefined ? because : [`${attemptAt(attempt)}: ${because.join(' ')}`];

/** How the program ended; the POST script of a DAG node may still make it a failure, or a success. */
function lastDiagnosis({ outcome, reason, node }: JobHistory, last: AttemptHistory): Diagnosis {
  const diagnosis = attemptDiagnosis(last) ?? nothingWrong;
  if (outcome === 'success' && node !== undefined && diagnosis.cause !== 'none')
    return {
      ...nothingWrong,
      because: [...diagnosis.because, 'But its POST script succeeded: the node is done.'],
    };
  if (outcome !== 'failed' || diagnosis.cause !== 'none') return diagnosis;
  const script = `But ${safeLine(reason ?? 'the POST script of its node failed')}.`;
  return { ...diagnosisOf('script-failed', [...diagnosis.because, script]), outlook: 'lasting' };
}

const exitOf = (termination: Termination | undefined): number | undefined =>
  termination?.normal === true ? termination.returnValue : undefined;

/** The user can avoid these in the next job. */
const avoidable = new Set<Cause>([
  'evicted',
  'disconnected',
  'time-limit',
  'memory-exceeded',
  'disk-exceeded',
]);

/** A job that succeeded may still have lost hours before. */
function adviceOnLosses(streaks: readonly Streak[], job: JobHistory, rules: RunRules | undefined): string[] {
  const last = streaks.at(-1)?.diagnosis;
  return last !== undefined && avoidable.has(last.cause) ? adviceOf(last, job, rules).slice(0, 1) : [];
}

function explainHold(job: JobHistory, rules: RunRules | undefined): Explanation {
  const { attempts } = job;
  const hold = detailsOf(job).holds.at(-1);
  if (hold === undefined) return explainWaiting(job, [], rules);
  const last = attempts.at(-1);
  // The hold ended the last attempt, unless the job was waiting.
  const held = hold.attempt === undefined ? undefined : last;
  const { complaint, memoryMb } = last?.details ?? {};
  const isBare = hold.reason.trim() === '';
  const said = { ...hold, reason: isBare ? (complaint?.text ?? '') : hold.reason };
  // A rule of the run held it for what its agent reported.
  const isForFault = held?.fault !== undefined && readPolicyHold(hold)?.by === 'exit';
  const ofAgent = isForFault ? attemptDiagnosis(held) : undefined;
  const diagnosis = ofAgent ?? diagnose(said, memoryMb);
  const past = describeStreaks(
    streaksOf(held === undefined ? attempts : attempts.slice(0, -1)),
    held && diagnosis,
  );
  const id = idInQueue(job.id);
  const isLasting = diagnosis.outlook === 'lasting';
  // A job in the queue does not change with the job file: only a retry sends the fix.
  const again =
    isLasting && rules !== undefined
      ? '`updraft retry` (or give it up: `updraft stop`)'
      : isLasting && needsResubmission(diagnosis.cause)
        ? `submit it again, and condor_rm ${id}: a job in the queue keeps its settings`
        : `condor_release ${id} (or give it up: condor_rm ${id})`;
  return explained(job, 'held', diagnosis, {
    because: [...diagnosis.because, attemptLine(attempts.at(-1), held), ...holdCount(job), ...past.because],
    evidence: [
      ...past.evidence,
      ...(isBare && complaint !== undefined ? [complaint.evidence] : []),
      ...(isAboutResources(diagnosis) && hold.table !== undefined ? [hold.table] : []),
      hold.evidence,
    ],
    doing: describeHoldAction(job, hold, rules),
    advice: [
      ...adviceOf(diagnosis, job, rules),
      `${isLasting ? 'Once that is fixed' : 'To try again'}: ${again}`,
    ],
  });
}

const isAboutResources = ({ cause }: Diagnosis): boolean =>
  cause === 'memory-exceeded' || cause === 'disk-exceeded';

function attemptLine(last: AttemptHistory | undefined, held: AttemptHistory | undefined): string {
  const count = last?.number ?? 0;
  if (held === undefined)
    return count === 0
      ? 'It was held before its first attempt.'
      : `It was not running; ${count} ${count === 1 ? 'attempt' : 'attempts'} had ended before.`;
  const place = siteOrMachine(held);
  const took = formatSpan(held.details?.from, held.details?.to);
  const where = place === '' ? '' : ` at ${place}`;
  return `This happened in attempt ${held.number}${where}${took === '' ? '' : `, after ${took}`}.`;
}
