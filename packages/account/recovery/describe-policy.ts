import type { FaultKind } from '../fault/kinds.ts';
import { formatDuration, formatSize, given } from '@updraft/base';
import { growthSteps, type Growth, type Policy } from './policy.ts';
import { simulate } from './decide.ts';

/** What a policy does about failures, in sentences for a reader of a plan. */
export function describePolicy(policy: Policy): string[] {
  const { attempts, giveUpSeconds, failedJobs } = policy;
  if (attempts === 1) return ['one attempt; no retries'];
  const late = giveUpSeconds === undefined ? '' : `, or ${formatDuration(giveUpSeconds)} after it was queued`;
  return given(
    `a job is given up after ${attempts} failed attempts${late}; evicted attempts do not count`,
    `temporary trouble, such as a missing object: tried again ${describeWaits(policy, 'object-missing')}`,
    ...describeAvoidance(policy),
    ...describeGrowth('memory', policy.memory),
    ...describeGrowth('disk', policy.disk),
    failedJobs !== undefined &&
      `when ${failedJobs} ${failedJobs === 1 ? 'job has' : 'jobs have'} failed for good, the rest ` +
        'of the run is given up',
  );
}

function describeAvoidance(policy: Policy): string[] {
  if (policy.backoff.immediateRetries === 0) return [];
  const other = policy.avoid === 'none' ? 'anywhere' : `at another ${policy.avoid}`;
  return [`a faulty machine: tried again ${other} ${describeWaits(policy, 'self-test-failed')}`];
}

/** `at once, at once, after 20m, after 40m`, for a fault that recurs each time; empty if there is no further try. */
export function describeWaits(policy: Policy, kind: FaultKind): string {
  const failed = { outcome: 'failed' as const, fault: { kind, message: '' }, endedAt: 0 };
  const { waits } = simulate(policy, { attempts: [failed] }, 0);
  return waits.map((seconds) => (seconds === 0 ? 'at once' : `after ${formatDuration(seconds)}`)).join(', ');
}

function describeGrowth(what: string, growth: Growth): string[] {
  const steps = growthSteps(growth);
  if (steps.length === 0) return [];
  return [`out of ${what}: tried again with ${steps.map(formatSize).join(', then ')}`];
}
