import type { OrderedRecovery } from '../job/job.ts';
import type { Avoidance, Recovery, Spec } from '../job/spec.ts';

/** How fast a pool tries again, in seconds. */
export interface Backoff {
  /** The first wait; each further one is twice as long, up to `maxBackoff`. */
  initialBackoff: number;
  maxBackoff: number;
  /**
   * So many failures are answered by another place, or by more memory or disk, without a wait; 0 where there is one
   * machine only.
   */
  immediateRetries: number;
  /** A job that found no other place for so long goes back to those where it failed. */
  forgetAfter: number;
}

/** What one job may ask for: at first, and at most after it ran out. In bytes. */
export interface Growth {
  asked: number;
  most: number;
}

/**
 * What is done about failures: from the user's file and the pool's pace. Plain data, and the only source of it: the
 * local pool decides by it, HTCondor's rules are rendered from it, and what people read of the next step comes from it.
 */
export interface Policy {
  /** Failed attempts after which a job is given up. */
  attempts: number;
  avoid: Avoidance;
  memory: Growth;
  disk: Growth;
  /** Seconds after a job was queued from which on no attempt is begun. */
  giveUpSeconds?: number;
  /** How long the pool looks for a machine that it has lost touch with, where we say it. */
  leaseSeconds?: number;
  /** Jobs that failed for good after which the rest of the run is given up. */
  failedJobs?: number;
  backoff: Backoff;
}

/** What earlier versions called the parts of a policy. */
const formerNames: Record<string, string> = {
  pace: 'backoff',
  firstWait: 'initialBackoff',
  mostWait: 'maxBackoff',
  atOnce: 'immediateRetries',
  letGo: 'forgetAfter',
};

/** A policy, or an order's part of it, as any version wrote it, with the names of this one. */
export function withCurrentNames(written: unknown): unknown {
  if (typeof written !== 'object' || written === null) return written;
  const renamed = Object.entries(written).map(([name, value]) => [
    formerNames[name] ?? name,
    withCurrentNames(value),
  ]);
  return Object.fromEntries(renamed) as unknown;
}

/** What a policy is made from besides the user's file. */
export interface PolicyTerms {
  diskBytes: number;
  backoff: Backoff;
}

/** HTCondor's own JobLeaseDuration. */
export const defaultLeaseSeconds = 2400;

/** How far requests grow without a limit of the user's, in times of what was asked for. */
const defaultGrowth = 4;

/** A spec; those of old runs know nothing of recovery. */
type PolicySpec = Pick<Spec, 'run' | 'resources'> & { recovery?: Recovery };

export function policyOf(
  { run, resources, recovery }: PolicySpec,
  { diskBytes, backoff }: PolicyTerms,
): Policy {
  const { avoid = 'site', memoryMaxBytes, diskMaxBytes, giveUpSeconds, failedJobs } = recovery ?? {};
  const hasChoice = run.attempts > 1 && backoff.immediateRetries > 0;
  // `disk = "auto"` may come to more than the user allows it to grow to.
  const growth = (mayGrow: boolean, asked: number, most = asked * defaultGrowth): Growth => ({
    asked,
    most: mayGrow ? Math.max(asked, most) : asked,
  });
  return {
    attempts: run.attempts,
    avoid: hasChoice ? avoid : 'none',
    // One machine alone can give a job more of its memory, beside fewer others; of its disk it gives all there is.
    memory: growth(run.attempts > 1, resources.memoryBytes, memoryMaxBytes),
    disk: growth(hasChoice, diskBytes, diskMaxBytes),
    ...(giveUpSeconds === undefined ? {} : { giveUpSeconds }),
    ...(failedJobs === undefined ? {} : { failedJobs }),
    backoff,
  };
}

/** Seconds to wait after the nth failure. */
export const waitAfter = (
  failures: number,
  { initialBackoff, maxBackoff }: Pick<Backoff, 'initialBackoff' | 'maxBackoff'>,
): number => Math.min(maxBackoff, initialBackoff * 2 ** (Math.max(1, failures) - 1));

/** What the attempts themselves must know of a policy. */
export const attemptRecovery = ({ attempts, failedJobs, backoff }: Policy): OrderedRecovery => ({
  attempts,
  ...(failedJobs === undefined ? {} : { failedJobs }),
  initialBackoff: backoff.initialBackoff,
  maxBackoff: backoff.maxBackoff,
});

/** What is asked for after it ran out as often as that. */
export const requestAfter = (growth: Growth, times: number): number =>
  growthSteps(growth).slice(0, times).at(-1) ?? growth.asked;

/** What is asked for, attempt by attempt, when each runs out of it: twice as much each time. */
export function growthSteps({ asked, most }: Growth): number[] {
  const steps: number[] = [];
  for (let next = asked; next < most;) {
    next = Math.min(most, next * 2);
    steps.push(next);
  }
  return steps;
}
