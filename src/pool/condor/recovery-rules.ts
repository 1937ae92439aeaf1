import { kinds } from '../../fault/kinds.ts';
import type { Plan } from '../../job/plan.ts';

/**
 * What the schedd does about a failure with nobody logged in. An attempt that ended by itself is tried again where
 * another try can help; a hold by trouble that passes is released, each time later, and `attempts` times at most;
 * a job that starts over and over is held.
 */
export interface RecoveryRules {
  /** Lines of the submit description. */
  lines: string[];
  /** Whether a job held for this, for the so many-th time, will be released by the rules. */
  willRelease(code: number, subcode: number, holds: number): boolean;
}

interface Passing {
  code: number;
  /** Subcodes that will not pass, such as the errno of a file that is not there. */
  unless: number[];
}

const missing = 2;
const noSpace = 28;
const quota = 122;

/** Hold codes of trouble that passes, or that another machine may not have. */
const passing: Passing[] = [
  { code: 11, unless: [] },
  { code: 12, unless: [missing, noSpace, quota] },
  { code: 13, unless: [missing] },
  { code: 18, unless: [] },
  { code: 19, unless: [] },
  { code: 23, unless: [] },
  { code: 36, unless: [] },
  { code: 48, unless: [] },
  { code: 49, unless: [] },
];

/** Slots that take a job and lose it again do not count against it, up to here. */
const startsBeyondAttempts = 20;

/** Codes of trouble before the job itself runs, after which HTCondor goes on for ever: transfers and images. */
const endless = [12, 13, 45];

/** Exit codes of the agent after which another attempt can help. */
const worthRetrying = Object.values(kinds)
  .filter(({ exit, retry }) => exit >= 90 && retry !== 'never')
  .map(({ exit }) => exit);

export function recoveryRules({ spec }: Plan, firstReleaseSeconds: number): RecoveryRules {
  const { attempts } = spec.run;
  const codes = passing.map(({ code, unless }) => {
    const except = unless.map((subcode) => ` && HoldReasonSubCode =!= ${subcode}`).join('');
    return `(HoldReasonCode == ${code}${except})`;
  });
  const backOff = `${firstReleaseSeconds} * pow(2, NumHolds)`;
  const starts = attempts + startsBeyondAttempts;
  const before = endless.map((code) => `VacateReasonCode =?= ${code}`);
  return {
    lines: [
      `max_retries = ${attempts - 1}`,
      `retry_until = !member(ExitCode, {${worthRetrying.join(', ')}})`,
      `periodic_release = NumHolds < ${attempts} && (${codes.join(' || ')}) && (time() - EnteredCurrentStatus) > ${backOff}`,
      `periodic_hold = JobStatus == 1 && (NumShadowStarts >= ${starts} || (NumShadowStarts >= ${attempts} && (${before.join(' || ')})))`,
      'periodic_hold_reason = strcat("started ", NumShadowStarts, " times; the last attempt ended: ", VacateReason ?: "without a word")',
      'periodic_hold_subcode = VacateReasonCode ?: 1',
    ],
    willRelease: (code, subcode, holds) =>
      holds < attempts && passing.some((one) => one.code === code && !one.unless.includes(subcode)),
  };
}
