import { byImportance, isLowerBetter, type MetricDirections } from '@updraft/base/training';
import { alternatives } from '@updraft/base';
import { Fault } from '../../fault/fault.ts';
import type { Interval } from '../../statistics/intervals.ts';
import { timeUnit, type Unit } from '@updraft/view/charts';
import { formatSeconds, formatShare } from '@updraft/view/format';
import { percentUnit, plainUnit, speedFigures, speedNames } from '../../history/speeds.ts';
import type { ComparedSample, SampleGroup } from './samples.ts';

/** A figure by which groups are compared. */
export interface Measure {
  name: string;
  title: string;
  /** `A … B`, of the better one. */
  phrase: string;
  isLowerBetter: boolean;
  /** What these values, and so their mean, are between; without any, all values are possible. */
  limits?: (values: readonly number[]) => Interval | undefined;
  of: (sample: ComparedSample) => number | null;
  /** Whether it has a value without a rank: NaN, or infinite. */
  isNotFinite?: (sample: ComparedSample) => boolean;
  show: (value: number) => string;
  unit: (max: number) => Unit;
}

type Value = (sample: ComparedSample) => number | null | undefined;

const ofValid =
  (value: Value) =>
  (sample: ComparedSample): number | null =>
    sample.isValid === true ? (value(sample) ?? null) : null;

const notNegative = (): Interval => [0, Infinity];
const aShare = (): Interval => [0, 1];

const duration = (name: string, title: string, phrase: string, value: Value): Measure => ({
  name,
  title,
  phrase,
  isLowerBetter: true,
  show: formatSeconds,
  unit: timeUnit,
  of: ofValid(value),
  limits: notNegative,
});

const percent = { show: formatShare, unit: percentUnit, limits: aShare };

/** Metrics that are shares, unless a value says that they are percentages; the short names are whole words. */
const [longNames, shortNames] = [
  'accuracy|precision|recall|sensitivity|specificity',
  '[bm]?acc|f1|auc|auroc|auprc|m?iou|dice|jaccard|m?ap',
];
const shares = new RegExp(`(?:${longNames}|(?:^|[^a-z])(?:${shortNames}))(?![a-z])`, 'i');

const isShare = (name: string, values: readonly number[]): boolean =>
  shares.test(name) && values.every((value) => value >= 0 && value <= 1);

const ownMeasures: readonly Measure[] = [
  duration('time', 'Time to a valid result', 'is faster than', ({ seconds }) => seconds),
  duration('slot', 'Slot time of a valid result', 'takes less slot time than', (one) => one.slotSeconds),
  duration('gpu', 'GPU time of a valid result', 'takes less GPU time than', (one) => one.gpuSeconds),
  duration(
    'transfer',
    'Transfer and waiting for data',
    'waits less for data than',
    (one) => one.transferSeconds,
  ),
  {
    ...percent,
    name: 'useful',
    title: 'Useful share of the slot time, failures included',
    phrase: 'uses its slots better than',
    isLowerBetter: false,
    of: ({ isValid, usefulShare }) => (isValid === null ? null : usefulShare),
  },
  ...speedNames.map((speed): Measure => {
    const { name, long: title, max, ...figure } = speedFigures[speed];
    const limits = (): Interval => [0, max];
    return { ...figure, name, title, limits, of: ofValid((sample) => sample.speed[speed]) };
  }),
  {
    unit: plainUnit,
    limits: notNegative,
    name: 'setbacks',
    title: 'Servers given up, failures included',
    phrase: 'gives up fewer servers than',
    isLowerBetter: true,
    show: (value) => String(Number(value.toFixed(1))),
    of: ({ isValid, setbacks }) => (isValid === null ? null : setbacks),
  },
];

/** The names of what can be compared: Updraft's own measures, and what the trainings measured. */
const measureNames = (samples: readonly ComparedSample[]): string[] => [
  ...ownMeasures.map(({ name }) => name),
  ...metricNames(samples),
];

/** Metrics that some valid result has, as a number. */
export function metricNames(samples: readonly ComparedSample[]): string[] {
  const valid = samples.filter(({ isValid }) => isValid === true);
  const known = valid.flatMap(({ metrics }) => Object.entries(metrics));
  return [...new Set(known.filter(([, value]) => Number.isFinite(value)).map(([name]) => name))];
}

/** Of the metrics that most groups have, so that they can be compared, the one that most likely decides. */
export function decidingMetric(groups: readonly SampleGroup[], directions: MetricDirections) {
  const measured = groups.flatMap(({ samples }) => metricNames(samples));
  const count = (name: string): number => measured.filter((one) => one === name).length;
  return byImportance([...new Set(measured)], directions).sort((a, b) => count(b) - count(a))[0];
}

/**
 * A metric called `time` is hidden by ours. `best_loss` is the best value of `loss` if any sample has that, and
 * `last_best_loss` then what a training itself calls so, as in the results.
 */
export function measureNamed(
  name: string,
  directions?: MetricDirections,
  samples: readonly ComparedSample[] = [],
): Measure {
  const own = ownMeasures.find((measure) => measure.name === name);
  if (own !== undefined) return own;
  const [, kind, metric = ''] = /^(best|last)_(.+)$/.exec(name) ?? [];
  const isOf = (values: 'metrics' | 'best', wanted: string) =>
    samples.some((sample) => Object.hasOwn(sample[values], wanted));
  const isBest = kind === 'best' && isOf('best', metric);
  const last = kind === 'last' && !isOf('metrics', name) ? metric : name;
  const of = ofValid(({ metrics, best }) => (isBest ? best[metric] : metrics[last]));
  const isLower = isLowerBetter(isBest ? metric : last, directions);
  return {
    name,
    title: name,
    phrase: `has a ${isLower ? 'lower' : 'higher'} ${name} than`,
    isLowerBetter: isLower,
    limits: (values) => (isShare(name, values) ? aShare() : undefined),
    of: (sample) => (Number.isFinite(of(sample)) ? of(sample) : null),
    isNotFinite: (sample) => of(sample) !== null && !Number.isFinite(of(sample)),
    show: (value) => String(Number(value.toPrecision(4))),
    unit: plainUnit,
  };
}

/** The measure, of which some sample has a value. */
export function knownMeasure(
  name: string,
  samples: readonly ComparedSample[],
  directions?: MetricDirections,
): Measure {
  const measure = measureNamed(name, directions, samples);
  if (samples.some((sample) => measure.of(sample) !== null)) return measure;
  // Without any valid result, there is nothing to compare, whatever its name.
  if (ownMeasures.includes(measure)) return measure;
  throw noMeasure(name, measureNames(samples));
}

function noMeasure(name: string, names: readonly string[]): Fault {
  const fix = `compare ${alternatives(name, names)}`;
  return new Fault('usage', `no job with a valid result has a value of "${name}"`, { about: name, fix });
}
