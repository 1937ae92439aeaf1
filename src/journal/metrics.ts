import { isLowerBetter } from '../base/metric-direction.ts';
import type { JobState, TrainingState } from './state.ts';

/** Figures that a training reports, by name. */
export type Metrics = Readonly<Record<string, number>>;

/** What a training last reported, its loss and accuracy first. */
export const metricsOf = ({ loss, accuracy, metrics }: Partial<TrainingState>): Metrics => ({
  ...(loss !== undefined && { loss }),
  ...(accuracy !== undefined && { accuracy }),
  ...metrics,
});

/** The better of each; NaN is never better. */
export function betterOf(best: Metrics = {}, values: Metrics = {}): Metrics {
  const merged: Record<string, number> = { ...best };
  for (const [name, value] of Object.entries(values)) keepBetter(merged, name, value);
  return merged;
}

/** The same in place, for one metric. */
export function keepBetter(best: Record<string, number>, name: string, value: number): void {
  const before = best[name];
  if (before === undefined || Number.isNaN(before)) best[name] = value;
  else if (isLowerBetter(name) ? value < before : value > before) best[name] = value;
}

/** A job's metrics: the latest value of each in any attempt, and the best. */
export function jobMetrics({ attempts }: JobState): { metrics: Metrics; best: Metrics } {
  const trainings = attempts.flatMap(({ agent }) => agent?.training ?? []);
  return {
    metrics: Object.assign({}, ...trainings.map(metricsOf)) as Metrics,
    best: trainings.map(({ best }) => best).reduce<Metrics>(betterOf, {}),
  };
}
