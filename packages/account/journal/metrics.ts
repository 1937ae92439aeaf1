import { clip, counted } from '@updraft/base';
import { hundredth, isLowerBetter } from '@updraft/base/training';
import { jobLabel } from './describe-parameters.ts';
import { maxMetricName, maxMetrics, type Metrics, type RefusedMetrics } from './entry.ts';
import type { FoldedJob, JobState } from './state.ts';
import type { TrainingState } from './agent-state.ts';

/** What a training last reported, its loss and accuracy first. */
export const metricsOf = ({ loss, accuracy, metrics }: Partial<TrainingState>): Metrics => ({
  ...(loss !== undefined && { loss }),
  ...(accuracy !== undefined && { accuracy }),
  ...metrics,
});

/** Of a training's state, while nobody else has it. */
export type OwnExtremes = Partial<Record<'best' | 'worst', Record<string, number>>>;

/**
 * Adds a value of a metric, in place, and says whether it is an extreme: which one is the best, the job file may say
 * otherwise than the name.
 */
export function addExtreme(of: OwnExtremes, name: string, value: number): boolean {
  const isLower = isLowerBetter(name);
  const isBest = keepBetter((of.best ??= {}), name, value, isLower);
  return keepBetter((of.worst ??= {}), name, value, !isLower) || isBest;
}

/** NaN is never better. */
export function keepBetter(
  best: Record<string, number>,
  name: string,
  value: number,
  isLower: boolean,
): boolean {
  const before = best[name];
  const isBetter =
    before === undefined || Number.isNaN(before) || (isLower ? value < before : value > before);
  if (isBetter) best[name] = value;
  return isBetter;
}

/** Metrics as shares of one: what has nothing above 1 is a percentage, too, where other jobs of the run show it. */
export function asShares(
  values: Metrics = {},
  scales: TrainingState['scales'] = {},
  percentages: readonly string[] = [],
): Metrics {
  const names = percentages.filter((name) => scales[name] === 'bare' && values[name] !== undefined);
  return { ...values, ...Object.fromEntries(names.map((name) => [name, hundredth(values[name] ?? NaN)])) };
}

/** The accuracies that some of these jobs write as percentages. */
export function percentagesOf(jobs: readonly Pick<FoldedJob, 'attempts'>[]): string[] {
  const found = new Set<string>();
  for (const { attempts } of jobs)
    for (const { agent } of attempts)
      for (const name in agent?.training?.scales)
        if (agent.training.scales[name] === 'percent') found.add(name);
  return [...found];
}

const refusals = (): Readonly<Record<RefusedMetrics['why'], string>> => ({
  'no-letter': 'the name of a metric needs a letter',
  'too-long': `the name of a metric has at most ${maxMetricName} characters`,
  'too-many': `the first ${maxMetrics} metrics of a training count, besides loss and accuracy`,
});

/** Which metrics of a training are not kept, and why. */
export function refusedSentence({ why, count, examples }: RefusedMetrics, where = ''): string {
  const names = examples.map((name) => `"${clip(name, 40)}"`).join(', ');
  const which = count > examples.length ? `such as ${names}` : names;
  return `${counted(count, 'metric')}${where} ${count === 1 ? 'was' : 'were'} not kept (${which}): ${refusals()[why]}.`;
}

/** The same of a run: a sentence for each reason, about the job with the most of them. */
export function refusedOfRun(jobs: readonly JobState[]): string[] {
  const found = jobs.flatMap(({ id, name, attempts }) => {
    const job = jobLabel(id, name);
    return attempts.flatMap(({ agent }) =>
      (agent?.training?.refused ?? []).map((refused) => ({ job, refused })),
    );
  });
  return [...Map.groupBy(found, ({ refused }) => refused.why).values()].map((alike) => {
    const { job, refused } = alike.reduce((a, b) => (b.refused.count > a.refused.count ? b : a));
    const others = new Set(alike.map((one) => one.job)).size - 1;
    const also = others === 0 ? '' : ` (also of ${counted(others, 'other job')})`;
    return refusedSentence(refused, ` of job ${job}${also}`);
  });
}
