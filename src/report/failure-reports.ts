import type { Cause } from '../codes/causes.ts';
import { describeCause } from './log/causes.ts';
import type { JobHistory } from '../history/history.ts';

/** Jobs that failed of the same cause. */
export interface FailureReport {
  cause: Cause;
  jobs: number;
  share: number;
  what: string;
  remedy: string;
  /** The pool's words for one of them. */
  example: { job: string; reason: string } | null;
}

/** Jobs that are over or held without a good end, by cause; the shares add up to 1. */
export function failureReports(jobs: readonly JobHistory[]): FailureReport[] {
  const failed = jobs.filter(isFailed);
  return [...Map.groupBy(failed, ({ cause = 'unknown' }) => cause)]
    .map(([cause, same]): FailureReport => {
      const told = same.find(({ reason }) => reason !== undefined);
      return {
        cause,
        jobs: same.length,
        share: same.length / failed.length,
        ...describeCause(cause),
        example: told === undefined ? null : { job: told.id, reason: told.reason ?? '' },
      };
    })
    .sort((a, b) => b.jobs - a.jobs || a.cause.localeCompare(b.cause));
}

const isFailed = ({ outcome }: JobHistory): boolean =>
  outcome === 'wrongOutput' || outcome === 'failed' || outcome === 'held' || outcome === 'removed';
