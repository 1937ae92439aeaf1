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
  for (const [name, value] of Object.entries(values)) {
    const before = merged[name];
    const isBetter = isLowerBetter(name) ? value < (before ?? NaN) : value > (before ?? NaN);
    if (before === undefined || Number.isNaN(before) || isBetter) merged[name] = value;
  }
  return merged;
}

/** A job's metrics: the latest value of each in any attempt, and the best. */
export function jobMetrics({ attempts }: JobState): { metrics: Metrics; best: Metrics } {
  const trainings = attempts.flatMap(({ agent }) => agent?.training ?? []);
  return {
    metrics: Object.assign({}, ...trainings.map(metricsOf)) as Metrics,
    best: trainings.map(({ best }) => best).reduce<Metrics>(betterOf, {}),
  };
}
