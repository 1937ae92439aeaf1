import {
  type CodeRow,
  codeRows,
  codeRowsOf,
  exitCodesFor,
  finalFailures,
  lastSignal,
  patternOf,
  policyHoldCode,
  policySubcodes,
  type Remedy,
  signalBase,
} from '@updraft/account/codes';
import { kinds } from '@updraft/account/fault';
import { allowedRemedy, type Policy } from '@updraft/account/recovery';
import { endlessVacates, failures, forgivenStarts } from './condor-policy.ts';
import { hadAllMemory } from './profiles.ts';
import { adString } from './submit-text.ts';

/** Starts beyond the attempts that a job may lose before its program runs. */
const startsBeyondAttempts = 20;

/** A number of failures after which the answers no longer change. */
const manyFailures = 1000;

/**
 * What the schedd does about failures with no user logged in, as lines of the submit file. Expressions that several
 * rules need are attributes of the job, so that people can read the rules, and query: condor_q -af UpdraftFailures.
 * Pure.
 */
export function recoveryLines(policy: Policy): string[] {
  const { initialBackoff, maxBackoff } = policy.backoff;
  return [
    `MY.UpdraftFailures = ${failures}`,
    `MY.UpdraftPause = min({${maxBackoff}, ${initialBackoff} * pow(2, UpdraftFailures - 1)})`,
    `MY.UpdraftHadAllMemory = ${hadAllMemory(policy)}`,
    ...exitLines(policy),
    ...releaseLines(policy),
    ...holdLines(policy),
  ];
}

/** Answers to an exit code that need no wait at first. */
const placeAnswers: readonly Remedy[] = ['elsewhere', 'more-disk', 'more-memory'];

/** An attempt that ended by itself is retried elsewhere at once, or held for a while, or was the last. */
function exitLines(policy: Policy): string[] {
  const { immediateRetries } = policy.backoff;
  const mayGoOn = `UpdraftFailures < ${policy.attempts}`;
  const atFailures = (failures: number): string => members(exitCodesFor(placeAnswers, failures));
  const otherPlace = finalFailures.reduceRight(
    (rest, final) => `UpdraftFailures < ${final} ? ${atFailures(final - 1)} : ${rest}`,
    atFailures(manyFailures),
  );
  const short = `ExitCode == ${kinds['memory-exceeded'].exit} && UpdraftHadAllMemory`;
  const waiting = members(exitCodesFor(['later'], manyFailures));
  const killed = 'ExitBySignal =?= true';
  return [
    `MY.UpdraftOtherPlace = ExitBySignal =!= true && !(${short}) && (${otherPlace})`,
    `on_exit_remove = !(${mayGoOn}${inTime(policy, 'time()')} && ` +
      `UpdraftOtherPlace && UpdraftFailures <= ${immediateRetries})`,
    `on_exit_hold = ${mayGoOn}${inTime(policy, 'time() + UpdraftPause')} && (${killed} ` +
      `|| ${waiting} || (UpdraftOtherPlace && UpdraftFailures > ${immediateRetries}))`,
    `on_exit_hold_reason = ifThenElse(${killed}, strcat("the agent was ended by ` +
      'signal ", ExitSignal), strcat("the attempt ended with exit code ", ExitCode))',
    `on_exit_hold_subcode = ifThenElse(${killed}, ${signalBase} + ExitSignal, ExitCode)`,
  ];
}

/** That the attempt would begin before the job is given up; computable from the log, too. */
const inTime = ({ giveUpSeconds }: Policy, begins: string): string =>
  giveUpSeconds === undefined ? '' : ` && (${begins} - QDate) < ${giveUpSeconds}`;

const members = (codes: readonly number[], name = 'ExitCode'): string =>
  `member(${name}, {${codes.join(', ')}})`;

/** Holds that a retry may fix are released, each time later; all others stay. */
function releaseLines(policy: Policy): string[] {
  const { immediateRetries } = policy.backoff;
  const answerOf = ({ answer = 'never' }: CodeRow): string =>
    answer === 'requeued' ? 'never' : allowedRemedy(policy, answer, 1);
  const answered = heldFor((row) => answerOf(row) !== 'never');
  const quick = heldFor((row) => !['never', 'later'].includes(answerOf(row)));
  const killed =
    `(HoldReasonCode == ${policyHoldCode} && HoldReasonSubCode > ` +
    `${signalBase} && HoldReasonSubCode <= ${signalBase + lastSignal})`;
  const ran = `(HoldReasonCode == ${policyHoldCode} && HoldReasonSubCode == ${kinds['memory-exceeded'].exit})`;
  const short = [...heldFor((row) => row.answer === 'more-memory'), ran].join(' || ');
  const exits = exitCodesFor(['later', ...placeAnswers], manyFailures);
  const own = `(HoldReasonCode == ${policyHoldCode} && ${members(exits, 'HoldReasonSubCode')})`;
  const isQuick = `UpdraftFailures <= ${immediateRetries} && (${[...quick, killed].join(' || ')})`;
  return [
    `MY.UpdraftWait = ${isQuick} ? 0 : UpdraftPause`,
    // HTCondor quotes this rule as the reason for a release, but omits a long one.
    `MY.UpdraftMayPass = (${[...answered, own, killed].join(' || ')}) && !(UpdraftHadAllMemory && (${short}))`,
    'periodic_release = UpdraftFailures < ' +
      `${policy.attempts}${inTime(policy, 'EnteredCurrentStatus + UpdraftWait')} ` +
      '&& (time() - EnteredCurrentStatus) > UpdraftWait && UpdraftMayPass',
  ];
}

/** The conditions for holds of the chosen rows; codes with the same condition are combined. */
function heldFor(isChosen: (row: CodeRow) => boolean): string[] {
  const all = new Set(codeRows.flatMap(({ codes = [] }) => codes).filter((code) => code < 1000));
  const codes = [...all].filter((code) => code !== policyHoldCode).sort((a, b) => a - b);
  return [...Map.groupBy(codes, (code) => conditionOn(codeRowsOf(code), isChosen))]
    .filter(([condition]) => condition !== 'false')
    .map(([condition, same]) => {
      const are = same.length === 1 ? `HoldReasonCode == ${same[0]}` : members(same, 'HoldReasonCode');
      return condition === 'true' ? `(${are})` : `(${are} && ${condition})`;
    });
}

/** The rows of one code as an expression: the first match decides, and neighbours that agree are one condition. */
function conditionOn(rows: readonly CodeRow[], isChosen: (row: CodeRow) => boolean): string {
  const groups: { rows: CodeRow[]; isChosen: boolean }[] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last?.isChosen === isChosen(row)) last.rows.push(row);
    else groups.push({ rows: [row], isChosen: isChosen(row) });
  }
  return groups.reduceRight((rest, group) => {
    const any = anyOf(group.rows);
    if (any === undefined) return String(group.isChosen);
    if (group.isChosen) return rest === 'false' ? any : `(${any} || ${rest})`;
    return rest === 'true' ? `!${any}` : rest === 'false' ? rest : `(!${any} && ${rest})`;
  }, 'false');
}

/** That one of the rows matches a hold with their code; undefined if one matches all. */
function anyOf(rows: readonly CodeRow[]): string | undefined {
  if (rows.some(({ subcodes, phrases }) => subcodes === undefined && phrases === undefined)) return undefined;
  const plain = rows.flatMap(({ subcodes = [], phrases }) => (phrases === undefined ? subcodes : []));
  const words = rows.flatMap((row) => (row.subcodes === undefined ? (row.phrases ?? []) : []));
  const both = rows.filter(
    ({ subcodes, phrases: pattern }) =>
      pattern !== undefined && subcodes?.some((subcode) => !plain.includes(subcode)) === true,
  );
  const parts = [
    ...(plain.length === 0 ? [] : [members(plain, 'HoldReasonSubCode')]),
    ...(words.length === 0 ? [] : [holdReasonMatches(words.join('|'))]),
    ...both.map(
      (row) =>
        `(${members(row.subcodes ?? [], 'HoldReasonSubCode')} && ${holdReasonMatches(row.phrases ?? '')})`,
    ),
  ];
  return parts.length === 1 ? parts.join('') : `(${parts.join(' || ')})`;
}

const holdReasonMatches = (pattern: string): string =>
  `regexp(${adString(patternOf(pattern))}, HoldReason ?: "", "i")`;

/** A job that starts over and over, or too late, is held permanently. */
function holdLines({ attempts, giveUpSeconds }: Policy): string[] {
  // A retry by hand forgives the starts before it.
  const starts = `NumShadowStarts - ${forgivenStarts}`;
  const loops = Object.entries(endlessVacates).map(
    ([code, name]) =>
      `(VacateReasonCode =?= ${code} && (NumVacatesByReason.${name} ?: ` +
      `NumShadowStarts) >= ${attempts} && ${starts} >= ${attempts})`,
  );
  const tooMany = `${starts} >= ${attempts + startsBeyondAttempts}`;
  const isLate = giveUpSeconds === undefined ? 'false' : `(time() - QDate) >= ${giveUpSeconds}`;
  // A schedd loses a reason that has quotes in it.
  const last = `replaceAll(${adString('"')}, VacateReason ?: "no reason given", "'")`;
  const times = 'NumShadowStarts == 1 ? " time" : " times"';
  const started = `strcat("started ", NumShadowStarts, ${times}, "; the last attempt ended: ", ${last})`;
  const late = `"given up: no valid result within ${giveUpSeconds ?? 0} s"`;
  const code =
    `(${members(Object.keys(endlessVacates).map(Number), '(VacateReasonCode ?: 0)')} ` +
    `? VacateReasonCode : ${policySubcodes.tooManyStarts})`;
  return [
    `MY.${forgivenStarts} = 0`,
    `periodic_hold = JobStatus == 1 && (${[tooMany, ...loops, isLate].join(' || ')})`,
    `periodic_hold_reason = ifThenElse(${isLate}, ${late}, ${started})`,
    `periodic_hold_subcode = ifThenElse(${isLate}, ${policySubcodes.tooLate}, ${code})`,
  ];
}
