import { kinds } from '../fault/kinds.ts';
import type { Account, JobStory } from './job-story.ts';

/** The rules of a run that the access point follows for its jobs. */
export interface RunRules {
  /** Attempts a job may have. */
  attempts: number;
  /** Whether a job held for this, for the so many-th time, will be released by the rules. */
  willRelease(code: number, subcode: number, holds: number): boolean;
  /** Seconds before the first release; each further one waits twice as long. */
  firstReleaseSeconds?: number | undefined;
  /** The file the rules stand in. */
  file: string;
}

/** What is done about a hold. */
export function doneAboutHold(story: JobStory, hold: Account, rules: RunRules | undefined): string[] {
  const byRule = story.releases.filter(({ reason }) => /expression/i.test(reason)).length;
  if (rules === undefined) {
    if (hold.code === 16)
      return ['The files are being copied; the job is released by itself when they are there.'];
    return byRule === 0
      ? [
          'Nothing that the log shows: it stays held until somebody, or a rule of its submit file, releases it.',
        ]
      : [
          `A rule of its own has released it ${times(byRule)} before and may do so again; the log does not show its limit.`,
        ];
  }
  const { attempts, firstReleaseSeconds, file } = rules;
  const holds = story.holds.length;
  if (hold.code === 1)
    return ['Nothing: a hold by hand waits for a person, whatever the rules of the run say.'];
  if (rules.willRelease(hold.code ?? 0, hold.subcode ?? 0, holds)) {
    const wait = firstReleaseSeconds === undefined ? '' : ` after ${firstReleaseSeconds * 2 ** holds} s`;
    return [
      `The schedd releases it by itself${wait}: this is hold ${holds}, and ${attempts - 1} of that kind are released (periodic_release in ${file}).`,
    ];
  }
  const isUsedUp = rules.willRelease(hold.code ?? 0, hold.subcode ?? 0, 0);
  return [
    isUsedUp
      ? `Nothing more: it was held ${times(holds)}, and the rules of the run allow ${attempts} attempts (periodic_release in ${file}).`
      : `Nothing: the rules of the run release only what another try can mend, and this is not of that kind (periodic_release in ${file}).`,
  ];
}

/** What is done about a job that starts over and over. */
export function doneAboutLoop(count: number, rules: RunRules | undefined): string[] {
  if (rules === undefined)
    return [
      'HTCondor puts it back into the queue each time and will not hold it by itself: it may go on for ever.',
    ];
  return [
    `It is put back into the queue each time; the rules of the run hold it after ${rules.attempts} such starts (periodic_hold in ${rules.file}), and it had ${count}.`,
  ];
}

/** What is done about a program that ended with an error, when the job has left the queue. */
export function doneAboutExit(
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
  const isMendable = Object.values(kinds).some(
    (kind) => kind.exit === exit && kind.exit >= 90 && kind.retry !== 'never',
  );
  const rule = `max_retries and retry_until in ${rules.file}`;
  return [
    isMendable
      ? `Nothing more: it was tried ${times(count)}, and the rules of the run allow ${rules.attempts} attempts (${rule}).`
      : `Nothing: the rules of the run try again only what another try can mend (${rule}).`,
  ];
}

export const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);
