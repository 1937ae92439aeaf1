import { findAll } from '../../../base/finding.ts';
import type { PlanLimits } from '../../../check/plan-limits.ts';
import { limitRules } from '../../../check/rules/limits.ts';
import { durationRule } from '../../../check/rules/time.ts';
import { Fault } from '../../../fault/fault.ts';
import type { Plan } from '../../../job/plan.ts';

/** Refuses a plan that the pool would hold as soon as it is queued. */
export function assertAllowed(plan: Plan, limits: PlanLimits): void {
  const { file } = plan;
  const facts = { plan, limits, where: () => ({ file, line: 1 }) };
  const error = findAll([...limitRules, durationRule], facts).find(({ level }) => level === 'error');
  if (error === undefined) return;
  throw new Fault('file-invalid', `${file}: ${error.message}`, { fix: error.fix, about: file });
}
