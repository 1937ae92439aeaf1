import { defined } from '@updraft/base';
import type { FaultKind } from '../fault/kinds.ts';

/** How soon a pool tries again, in seconds. */
export interface Backoff {
  /** Each further backoff is twice as long, up to `maxBackoff`. */
  initialBackoff: number;
  maxBackoff: number;
  /**
   * This many failures are retried elsewhere, or with more memory or disk, without a wait; 0 if there is one
   * machine only.
   */
  immediateRetries: number;
  /** A job that found no other machine for this long returns to those where it failed. */
  forgetAfter: number;
}

/** What the next attempt avoids after a failure that another place can fix. */
export const avoidances = ['site', 'machine', 'none'] as const;
export type Avoidance = (typeof avoidances)[number];

/** What one job may request: at first, and at most after it ran out. In bytes. */
export interface Growth {
  asked: number;
  most: number;
}

/**
 * What is done about failures, from the job file and the pool's backoff. Plain data, and the only source: the local
 * pool decides by it, HTCondor's rules are rendered from it, and the explanations of the next step come from it.
 */
export interface Policy {
  /** Failed attempts after which a job is given up. */
  attempts: number;
  avoid: Avoidance;
  memory: Growth;
  disk: Growth;
  /** Seconds after a job was queued when no further attempt is started. */
  giveUpSeconds?: number;
  /** How long the pool waits for a machine that it lost contact with, if we set it. */
  leaseSeconds?: number;
  /** The number of jobs that fail for good after which the rest of the run is given up. */
  failedJobs?: number;
  /** Faults that one more attempt may fix on this pool, and no further one. */
  retriedOnce?: readonly FaultKind[];
  backoff: Backoff;
}

/** What a policy needs besides the job file. */
export interface PolicyTerms {
  diskBytes: number;
  backoff: Backoff;
}

/** HTCondor's own JobLeaseDuration. */
export const defaultLeaseSeconds = 2400;

/** How far requests grow if the user sets no limit, as a factor. */
const defaultGrowth = 4;

/** What a policy takes from a job file; those of old runs have no `recovery`. */
interface PolicySpec {
  run: { attempts: number };
  resources: { memoryBytes: number };
  recovery?: {
    avoid: Avoidance;
    memoryMaxBytes?: number | undefined;
    diskMaxBytes?: number | undefined;
    giveUpSeconds?: number | undefined;
    failedJobs?: number | undefined;
  };
}

/** What the attempts themselves need of a policy. */
export interface AttemptRecovery {
  attempts: number;
  failedJobs?: number;
  /** Seconds. */
  initialBackoff: number;
  maxBackoff: number;
}

export function policyOf(
  { run, resources, recovery }: PolicySpec,
  { diskBytes, backoff }: PolicyTerms,
): Policy {
  const { avoid = 'site', memoryMaxBytes, diskMaxBytes, giveUpSeconds, failedJobs } = recovery ?? {};
  const hasChoice = run.attempts > 1 && backoff.immediateRetries > 0;
  // `disk = "auto"` may be more than the user's limit of growth.
  const growth = (mayGrow: boolean, asked: number, most = asked * defaultGrowth): Growth => ({
    asked,
    most: mayGrow ? Math.max(asked, most) : asked,
  });
  return {
    attempts: run.attempts,
    avoid: hasChoice ? avoid : 'none',
    // A single machine can give a job more memory, next to fewer others, but not more disk.
    memory: growth(run.attempts > 1, resources.memoryBytes, memoryMaxBytes),
    disk: growth(hasChoice, diskBytes, diskMaxBytes),
    ...defined({ giveUpSeconds, failedJobs }),
    backoff,
  };
}

/** Seconds to wait after the nth failure. */
export const waitAfter = (
  failures: number,
  { initialBackoff, maxBackoff }: Pick<Backoff, 'initialBackoff' | 'maxBackoff'>,
): number => Math.min(maxBackoff, initialBackoff * 2 ** (Math.max(1, failures) - 1));

export const attemptRecovery = ({ attempts, failedJobs, backoff }: Policy): AttemptRecovery => ({
  attempts,
  ...defined({ failedJobs }),
  initialBackoff: backoff.initialBackoff,
  maxBackoff: backoff.maxBackoff,
});

/** What is requested after it ran out `times` times. */
export const requestAfter = (growth: Growth, times: number): number =>
  growthSteps(growth).slice(0, times).at(-1) ?? growth.asked;

/** What is requested, attempt by attempt, if each runs out: twice as much each time. */
export function growthSteps({ asked, most }: Growth): number[] {
  const steps: number[] = [];
  for (let next = asked; next < most;) {
    next = Math.min(most, next * 2);
    steps.push(next);
  }
  return steps;
}
