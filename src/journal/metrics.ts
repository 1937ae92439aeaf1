import { counted } from '../base/counted.ts';
import { isLowerBetter } from '../base/metric-direction.ts';
import { clip } from '../base/text-table.ts';
import { maxMetricName, maxMetrics, type RefusedMetrics } from './entry.ts';
import type { AttemptState, JobState, TrainingState } from './state.ts';

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

const refusals: Readonly<Record<RefusedMetrics['why'], string>> = {
  'no-letter': 'the name of a metric needs a letter',
  'too-long': `the name of a metric has at most ${maxMetricName} characters`,
  'too-many': `the first ${maxMetrics} metrics of a training count`,
};

function refusedSentence({ why, count, examples }: RefusedMetrics, where = ''): string {
  const names = examples.map((name) => `"${clip(name, 40)}"`).join(', ');
  const which = count > examples.length ? `such as ${names}` : names;
  return `${counted(count, 'metric')}${where} ${count === 1 ? 'was' : 'were'} not kept (${which}): ${refusals[why]}.`;
}

/** Which metrics of an attempt are not kept, and why. */
export const refusedSentences = (attempt: AttemptState | undefined): string[] =>
  (attempt?.agent?.refusedMetrics ?? []).map((one) => refusedSentence(one));

/** The same of a run: a sentence for each reason, about the job with the most of them. */
export function refusedOfRun(jobs: readonly JobState[]): string[] {
  const found = jobs.flatMap(({ id, attempts }) =>
    attempts.flatMap(({ agent }) => (agent?.refusedMetrics ?? []).map((refused) => ({ id, refused }))),
  );
  return [...Map.groupBy(found, ({ refused }) => refused.why).values()].map((alike) => {
    const { id, refused } = alike.reduce((a, b) => (b.refused.count > a.refused.count ? b : a));
    const others = new Set(alike.map((one) => one.id)).size - 1;
    const also = others === 0 ? '' : ` (also of ${counted(others, 'other job')})`;
    return refusedSentence(refused, ` of job ${id}${also}`);
  });
}
