import { formatDuration } from '@updraft/base';
import { remedyForKind, kindOfExit, policyHoldCode } from '../codes/remedies.ts';
import { causeOf } from '../diagnosis/cause-of.ts';
import { endFromHold, willRelease } from '../recovery/releases.ts';
import type { AttemptHistory, Hold, JobHistory } from '../history/history.ts';
import { siteOrMachine } from '../history/worker.ts';
import { detailsOf } from './past-attempts.ts';
import type { Policy } from '../recovery/policy.ts';
import { outOfMemoryCount, simulate, type EndedAttempt, type RetryOutlook } from '../recovery/decide.ts';

/** The rules of a run that are in its submit file. */
export interface RunRules {
  policy: Policy;
  file: string;
}

/** HTCondor's code of a hold by a user. */
const userHoldCode = 1;

export function describeHoldAction(job: JobHistory, hold: Hold, rules: RunRules | undefined): string[] {
  if (rules === undefined) return describeOthersAction(job, hold);
  const { policy, file } = rules;
  const { code = 0, subcode = 0, reason } = hold;
  if (code === userHoldCode) return ['Nothing: a job that a user held stays held until a user releases it.'];
  const history = historyOf(job);
  const outlook = simulate(policy, history, job.to);
  const rule = `periodic_release in ${file}`;
  const held = { code, subcode, reason };
  if (outlook.next.do !== 'end') return describeRelease(outlook, rule);
  const { failures } = outlook;
  const ranOut = outOfMemoryCount(history.attempts);
  if (willRelease(policy, held, { failures: 0, ranOut }) && failures >= policy.attempts)
    return [
      `Nothing more: ${failures} attempts failed, and the rules of the run allow ${policy.attempts} (${rule}).`,
    ];
  if (willRelease(policy, held, { failures: 0, ranOut: 0 }) && ranOut > 0)
    return [`Nothing more: it had all the memory that the rules of the run may request (${rule}).`];
  if (willRelease(policy, held, { failures, ranOut }))
    return [`Nothing more: ${outlook.next.why} (${rule}).`];
  return [
    `Nothing: the rules of the run release only jobs that another try can fix, and this is not one (${rule}).`,
  ];
}

function describeOthersAction(job: JobHistory, hold: Hold): string[] {
  if (causeOf(hold.code, hold.subcode, hold.reason) === 'staging')
    return ['The files are being copied; the job is released when they have arrived.'];
  const byRule = releasesByRule(job);
  return byRule === 0
    ? ['It stays held until a user or a rule in its submit file releases it.']
    : [
        `A rule of the job has released it ${times(byRule)} before and may do so again; the log does ` +
          'not show its limit.',
      ];
}

function describeRelease({ failures, attempts, next, waits }: RetryOutlook, rule: string): string[] {
  const [wait = 0, ...further] = waits;
  const at = next.do === 'wait' ? ` at ${clock(next.until)}` : '';
  const waited = wait === 0 ? 'at its next check' : `${formatDuration(wait)} after it was held`;
  const rest = further.map((seconds) => (seconds === 0 ? 'at once' : `after ${formatDuration(seconds)}`));
  return [
    `The schedd releases it${at}, ${waited}: this is failure ${failures} of at most ${attempts} (${rule}).`,
    ...(rest.length === 0
      ? ['If the next attempt fails too, it is given up.']
      : [`If it fails like this again, it is tried again ${rest.join(', then ')}, then given up.`]),
  ];
}

/** `05:43:10 UTC`. */
const clock = (time: number): string => `${new Date(time).toISOString().slice(11, 19)} UTC`;

/** The failures of a job according to its log: attempts that exited and were requeued, and holds. */
function historyOf(job: JobHistory): { queuedAt: number | undefined; attempts: EndedAttempt[] } {
  const failed = (how: Partial<EndedAttempt> = {}): EndedAttempt => ({
    outcome: 'failed',
    endedAt: job.to,
    ...how,
  });
  const exits = job.attempts.filter(exitedByItself).map((attempt) => failed(endOfExit(attempt)));
  const holds = detailsOf(job)
    .holds.filter(({ code }) => code !== userHoldCode)
    .map(({ code = 0, subcode = 0, reason }) => failed(endFromHold({ code, subcode, reason })));
  return { queuedAt: job.from, attempts: [...exits, ...holds] };
}

/** A job that waits for a slot again is kept away from where it failed, as long as there are other sites. */
export function describeWaitAction(job: JobHistory, rules: RunRules | undefined): string[] {
  const plain = 'HTCondor is looking for another slot.';
  if (rules === undefined || rules.policy.avoid === 'none' || !isToBlame(job)) return [plain];
  const places = [...new Set(job.attempts.map(siteOrMachine))].filter((place) => place !== '');
  const { avoid, backoff } = rules.policy;
  return [
    `HTCondor is looking for a slot at a ${avoid} other than ${places.join(', ')}; after ` +
      `${formatDuration(backoff.forgetAfter)} without one, these may be used again (requirements in ` +
      `${rules.file}).`,
  ];
}

function endOfExit({ details }: AttemptHistory): Pick<EndedAttempt, 'fault'> {
  const termination = details?.end?.termination;
  const kind = termination?.normal === true ? kindOfExit(termination.returnValue) : undefined;
  return kind === undefined ? {} : { fault: { kind, message: '' } };
}

const exitedByItself = ({ details }: AttemptHistory): boolean => details?.end?.how === 'exited';

/** Whether an attempt failed for a cause that another site can avoid. */
const isToBlame = (job: JobHistory): boolean =>
  job.attempts.some(exitedByItself) ||
  detailsOf(job).holds.some(({ code }) => code !== userHoldCode && code !== policyHoldCode);

export function describeLoopAction(count: number, rules: RunRules | undefined): string[] {
  if (rules === undefined)
    return ['HTCondor puts it back into the queue each time and never holds it: this can repeat forever.'];
  return [
    'It is put back into the queue each time; the rules of the run hold it after ' +
      `${rules.policy.attempts} such starts (periodic_hold in ${rules.file}). So far there were ` +
      `${count}.`,
  ];
}

export function describeExitAction(
  count: number,
  exit: number | undefined,
  rules: RunRules | undefined,
): string[] {
  if (rules === undefined)
    return [
      count > 1
        ? `Nothing more: it was tried ${count} times and has left the queue.`
        : 'Nothing: it has left the queue.',
    ];
  const kind = exit === undefined ? undefined : kindOfExit(exit);
  const rule = `on_exit_remove in ${rules.file}`;
  return [
    kind !== undefined && remedyForKind(kind, 1) !== 'never'
      ? `Nothing more: it was tried ${times(count)}, and the rules of the run allow ` +
        `${rules.policy.attempts} attempts (${rule}).`
      : `Nothing: the rules of the run retry only what another try can fix (${rule}).`,
  ];
}

/** HTCondor quotes the rule that released a job, or gives no reason if the rule is too long; a user is always named. */
export const releasesByRule = (job: JobHistory): number =>
  detailsOf(job).releases.filter(({ reason }) => reason.trim() === '' || /expression/i.test(reason)).length;

export const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);
