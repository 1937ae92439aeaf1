import { exitsWith, holdAnswers, ownSubcodes, signalBase, type HoldAnswer } from '../../recovery/answers.ts';
import { willRelease } from '../../recovery/answer-by-policy.ts';
import type { Policy } from '../../recovery/policy.ts';

/** Holds that the job's own rules asked for: attempts that ended by themselves and are to wait. */
export const policyHolds = '(NumHoldsByReason.JobPolicy ?: 0)';

/** Attempts that failed: those that ended by themselves and those that were held, each once. Holds by hand are none. */
export const failures = `((NumJobCompletions ?: 0) + (NumHolds ?: 0) - ${policyHolds} - (NumHoldsByReason.UserRequest ?: 0))`;

/** Slots that take a job and lose it again do not count against it, up to here. */
const startsBeyondAttempts = 20;

/** Trouble before the job itself runs, after which HTCondor goes on for ever: transfers and images. */
const endless = { 12: 'TransferOutputError', 13: 'TransferInputError', 45: 'SingularityTestFailed' };

/** Any number: the answers do not change any more. */
const later = 1000;

/** What the schedd does about failures with nobody logged in, as lines of the submit description. Pure. */
export function recoveryLines(policy: Policy): string[] {
  return [...exitLines(policy), ...releaseLines(policy), ...holdLines(policy)];
}

/** An attempt that ended by itself goes to another place at once, or is held for a while, or was the last. */
function exitLines({ attempts, giveUpSeconds, pace }: Policy): string[] {
  const isLeft = [`${failures} < ${attempts}`, ...inTime(giveUpSeconds)].join(' && ');
  const first = members(exitsWith(['elsewhere', 'more-disk'], 1));
  const next = members(exitsWith(['elsewhere', 'more-disk'], later));
  const waiting = members(exitsWith(['later'], later));
  const elsewhere = `(${failures} <= 1 ? ${first} : ${next})`;
  return [
    `on_exit_remove = !(${isLeft} && ExitBySignal =!= true && ${elsewhere} && ${failures} <= ${pace.atOnce})`,
    `on_exit_hold = ${isLeft} && (ExitBySignal =?= true || ${waiting} || (${elsewhere} && ${failures} > ${pace.atOnce}))`,
    'on_exit_hold_reason = ifThenElse(ExitBySignal =?= true, strcat("the agent was ended by signal ", ExitSignal), strcat("the attempt ended with exit code ", ExitCode))',
    `on_exit_hold_subcode = ifThenElse(ExitBySignal =?= true, ${signalBase} + ExitSignal, ExitCode)`,
  ];
}

const members = (codes: number[]): string => `member(ExitCode, {${codes.join(', ')}})`;

function releaseLines(policy: Policy): string[] {
  const { attempts, giveUpSeconds, pace } = policy;
  // What the policy has no answer to is left out: it is kept, and shown.
  const answered = holdAnswers.filter(({ code, subcodes = [0] }) =>
    subcodes.some((subcode) => willRelease(policy, code, subcode, 0)),
  );
  const codes = [...answered.map(holdCondition), '(HoldReasonCode == 3 && HoldReasonSubCode >= 90)'];
  const wait = `min({${pace.mostWait}, ${pace.firstWait} * pow(2, ${failures} - 1)})`;
  const isDue = `(time() - EnteredCurrentStatus) > (member(HoldReasonSubCode, {102, 104}) ? 0 : ${wait})`;
  const rules = [`${failures} < ${attempts}`, ...inTime(giveUpSeconds), `(${codes.join(' || ')})`, isDue];
  return [`periodic_release = ${rules.join(' && ')}`];
}

function holdCondition({ code, subcodes, unless }: HoldAnswer): string {
  const only = subcodes === undefined ? '' : ` && member(HoldReasonSubCode, {${subcodes.join(', ')}})`;
  const except = unless === undefined ? '' : ` && !member(HoldReasonSubCode, {${unless.join(', ')}})`;
  return `(HoldReasonCode == ${code}${only}${except})`;
}

const inTime = (seconds: number | undefined): string[] =>
  seconds === undefined ? [] : [`(time() - QDate) < ${seconds}`];

/** A job that starts over and over, or too late, is held for good. */
function holdLines({ attempts, giveUpSeconds }: Policy): string[] {
  const loops = Object.entries(endless).map(
    ([code, name]) =>
      `(VacateReasonCode =?= ${code} && (NumVacatesByReason.${name} ?: NumShadowStarts) >= ${attempts})`,
  );
  const isLate = giveUpSeconds === undefined ? 'false' : `(time() - QDate) > ${giveUpSeconds}`;
  const starts = `NumShadowStarts >= ${attempts + startsBeyondAttempts}`;
  const loop =
    'strcat("started ", NumShadowStarts, " times; the last attempt ended: ", VacateReason ?: "without a word")';
  const late = `"given up: no valid result within ${giveUpSeconds ?? 0} s"`;
  return [
    `periodic_hold = JobStatus == 1 && (${[starts, ...loops, isLate].join(' || ')})`,
    `periodic_hold_reason = ifThenElse(${isLate}, ${late}, ${loop})`,
    `periodic_hold_subcode = ifThenElse(${isLate}, ${ownSubcodes.tooLate}, VacateReasonCode ?: ${ownSubcodes.tooManyStarts})`,
  ];
}
