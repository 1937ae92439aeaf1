import { answerByPolicy } from '../../../recovery/answer-by-policy.ts';
import {
  exitsWith,
  holdAnswers,
  lastSignal,
  ownHold,
  ownSubcodes,
  signalBase,
  type HoldAnswer,
} from '../../../codes/answers.ts';
import type { Policy } from '../../../recovery/policy.ts';
import { endlessVacates, failures } from './counted-by-condor.ts';

/** Slots that take a job and lose it again do not count against it, up to here. */
const startsBeyondAttempts = 20;

/** Any number: the answers do not change any more. */
const later = 1000;

/**
 * What the schedd does about failures with nobody logged in, as lines of the submit description. What several rules
 * need is an attribute of the job, so that people can read the rules, and ask for it: condor_q -af UpdraftFailures.
 * Pure.
 */
export function recoveryLines(policy: Policy): string[] {
  const { firstWait, mostWait } = policy.pace;
  return [
    `MY.UpdraftFailures = ${failures}`,
    `MY.UpdraftPause = min({${mostWait}, ${firstWait} * pow(2, UpdraftFailures - 1)})`,
    ...exitLines(policy),
    ...releaseLines(policy),
    ...holdLines(policy),
  ];
}

/** An attempt that ended by itself goes to another place at once, or is held for a while, or was the last. */
function exitLines(policy: Policy): string[] {
  const { atOnce } = policy.pace;
  const mayGoOn = `UpdraftFailures < ${policy.attempts}`;
  const first = members(exitsWith(['elsewhere', 'more-disk'], 1));
  const next = members(exitsWith(['elsewhere', 'more-disk'], later));
  const waiting = members(exitsWith(['later'], later));
  const killed = 'ExitBySignal =?= true';
  return [
    `MY.UpdraftOtherPlace = ExitBySignal =!= true && (UpdraftFailures <= 1 ? ${first} : ${next})`,
    `on_exit_remove = !(${mayGoOn}${inTime(policy, 'time()')} && UpdraftOtherPlace && UpdraftFailures <= ${atOnce})`,
    `on_exit_hold = ${mayGoOn}${inTime(policy, 'time() + UpdraftPause')} && (${killed} || ${waiting} || (UpdraftOtherPlace && UpdraftFailures > ${atOnce}))`,
    `on_exit_hold_reason = ifThenElse(${killed}, strcat("the agent was ended by signal ", ExitSignal), strcat("the attempt ended with exit code ", ExitCode))`,
    `on_exit_hold_subcode = ifThenElse(${killed}, ${signalBase} + ExitSignal, ExitCode)`,
  ];
}

/** That an attempt would begin before the job is given up. Whoever watches can tell the same from the log. */
const inTime = ({ giveUpSeconds }: Policy, begins: string): string =>
  giveUpSeconds === undefined ? '' : ` && (${begins} - QDate) < ${giveUpSeconds}`;

const members = (codes: number[], name = 'ExitCode'): string => `member(${name}, {${codes.join(', ')}})`;

/** Holds that another try can mend are released, each time later; all others are kept. */
function releaseLines(policy: Policy): string[] {
  const { atOnce } = policy.pace;
  const answered = holdAnswers.filter(
    ({ code, subcodes: [subcode = 0] = [] }) => answerByPolicy(policy, code, subcode, 0) !== 'never',
  );
  const quick = answered.filter(({ answer }) => answer !== 'later').map(({ code }) => code);
  const killed = `(HoldReasonCode == ${ownHold} && HoldReasonSubCode > ${signalBase} && HoldReasonSubCode <= ${signalBase + lastSignal})`;
  const exits = exitsWith(['later', 'elsewhere', 'more-disk'], later);
  const own = `(HoldReasonCode == ${ownHold} && ${members(exits, 'HoldReasonSubCode')})`;
  const isQuick = `UpdraftFailures <= ${atOnce} && (${members([...new Set(quick)], 'HoldReasonCode')} || ${killed})`;
  return [
    `MY.UpdraftWait = ${isQuick} ? 0 : UpdraftPause`,
    `periodic_release = UpdraftFailures < ${policy.attempts}${inTime(policy, 'EnteredCurrentStatus + UpdraftWait')} && (time() - EnteredCurrentStatus) > UpdraftWait && (${[...answered.map(holdCondition), own, killed].join(' || ')})`,
  ];
}

function holdCondition({ code, subcodes, unless }: HoldAnswer): string {
  const only = subcodes === undefined ? '' : ` && ${members(subcodes, 'HoldReasonSubCode')}`;
  const except = unless === undefined ? '' : ` && !${members(unless, 'HoldReasonSubCode')}`;
  return `(HoldReasonCode == ${code}${only}${except})`;
}

/** A job that starts over and over, or too late, is held for good. */
function holdLines({ attempts, giveUpSeconds }: Policy): string[] {
  const loops = Object.entries(endlessVacates).map(
    ([code, name]) =>
      `(VacateReasonCode =?= ${code} && (NumVacatesByReason.${name} ?: NumShadowStarts) >= ${attempts})`,
  );
  const starts = `NumShadowStarts >= ${attempts + startsBeyondAttempts}`;
  const isLate = giveUpSeconds === undefined ? 'false' : `(time() - QDate) >= ${giveUpSeconds}`;
  const told =
    'strcat("started ", NumShadowStarts, " times; the last attempt ended: ", VacateReason ?: "without a word")';
  const late = `"given up: no valid result within ${giveUpSeconds ?? 0} s"`;
  const code = `(${members(Object.keys(endlessVacates).map(Number), '(VacateReasonCode ?: 0)')} ? VacateReasonCode : ${ownSubcodes.tooManyStarts})`;
  return [
    `periodic_hold = JobStatus == 1 && (${[starts, ...loops, isLate].join(' || ')})`,
    `periodic_hold_reason = ifThenElse(${isLate}, ${late}, ${told})`,
    `periodic_hold_subcode = ifThenElse(${isLate}, ${ownSubcodes.tooLate}, ${code})`,
  ];
}
