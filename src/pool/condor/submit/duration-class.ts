import { durationClasses, type DurationClass, type PlanLimits } from '../../../check/plan-limits.ts';
import type { Plan } from '../../../job/plan.ts';

/** The duration class of a plan: the shortest it fits in; undefined where the pool has none, or none is long enough. */
export function durationClass({ spec }: Plan, profile: PlanLimits): DurationClass | undefined {
  const { gpus, timeSeconds } = spec.resources;
  const classes = durationClasses(profile, gpus);
  return timeSeconds === undefined ? classes[0] : classes.find(({ seconds }) => timeSeconds <= seconds);
}
