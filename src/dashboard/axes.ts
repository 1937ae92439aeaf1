import { compareValues, numberOf } from '@updraft/base';
import { tickStep } from '@updraft/view/charts';
import { showValue } from '@updraft/account/parameters';
import type { ParameterValue } from './page-data.ts';

/** Where values are drawn on an axis of length 1, and which are labelled. Pure; needs nothing of Node or a browser. */
export interface ValueAxis {
  kind: 'linear' | 'log' | 'category';
  place: (value: ParameterValue) => number;
  ticks: { at: number; label: string }[];
}

/** More values than this are labelled at round numbers instead. */
const maxLabels = 8;
/** Labels that are nearer to each other are one over the other. */
const minLabelGap = 0.055;

/**
 * The axis of a parameter: its own values if they are few, a logarithm if they span decades. Few values that it would
 * crowd, such as 0 beside decades, are at equal distances instead; those of a metric keep their distances.
 */
export function axisOf(values: readonly ParameterValue[], isMetric = false): ValueAxis {
  const distinct = [...new Set(values)].sort(compareValues);
  const numbers = distinct.flatMap((value) => numberOf(value) ?? []);
  if (numbers.length < distinct.length || numbers.length === 0) return categoryAxis(distinct);
  const axis = isLogarithmic(numbers) ? logAxis(numbers) : linearAxis(numbers);
  if (numbers.length > maxLabels) return axis;
  const ticks = numbers.map((value) => ({ at: axis.place(value), label: shortNumber(value) }));
  const isCrowded = ticks.some(({ at }, index) => at - (ticks[index - 1]?.at ?? -1) < minLabelGap);
  return !isCrowded ? { ...axis, ticks } : isMetric ? axis : categoryAxis(distinct);
}

/** The axis of a curve's values: round numbers, a logarithm only where one that diverged would flatten the rest. */
export const curveAxis = (low: number, high: number): ValueAxis =>
  low > 0 && high / low >= 100 ? logAxis([low, high]) : linearAxis([low, high]);

function categoryAxis(values: readonly ParameterValue[]): ValueAxis {
  const last = Math.max(1, values.length - 1);
  const places = new Map(values.map((value, index) => [value, values.length === 1 ? 0.5 : index / last]));
  const every = Math.ceil(values.length / (2 * maxLabels));
  const labelled = values.filter((_, index) => index % every === 0);
  const place = (value: ParameterValue) => places.get(value) ?? 0;
  return {
    kind: 'category',
    place,
    ticks: labelled.map((value) => ({ at: place(value), label: showValue(value) })),
  };
}

/** Values that grow by factors: their middle is nearer the middle of a logarithmic axis. */
function isLogarithmic(sorted: readonly number[]): boolean {
  const [low = 0, high = 0] = [sorted[0], sorted.at(-1)];
  if (low <= 0 || high / low < 8) return false;
  const half = (sorted.length - 1) / 2;
  const middle = ((sorted[Math.floor(half)] ?? 0) + (sorted[Math.ceil(half)] ?? 0)) / 2;
  const offCentre = (share: number) => Math.abs(share - 0.5);
  const log = Math.log(middle / low) / Math.log(high / low);
  return offCentre(log) < offCentre((middle - low) / (high - low));
}

function linearAxis(sorted: readonly number[]): ValueAxis {
  const { low, span } = rangeOf(sorted);
  const step = tickStep(span, 5);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor((low + span) / step + 1e-9) - first + 1;
  const place = (value: ParameterValue) => (Number(value) - low) / span;
  const ticks = Array.from({ length: Math.max(0, count) }, (_, index) => (first + index) * step);
  return {
    kind: 'linear',
    place,
    ticks: ticks.map((value) => ({ at: place(value), label: shortNumber(value) })),
  };
}

function logAxis(sorted: readonly number[]): ValueAxis {
  const { low, span } = rangeOf(sorted.map(Math.log10));
  const place = (value: ParameterValue) => (Math.log10(Number(value)) - low) / span;
  const every = Math.max(1, Math.ceil(span / 6));
  const powers = [];
  for (let power = Math.ceil(low - 1e-9); power <= low + span + 1e-9; power += every)
    powers.push(10 ** power);
  return {
    kind: 'log',
    place,
    ticks: powers.map((value) => ({ at: place(value), label: shortNumber(value) })),
  };
}

/** A single value is in the middle. */
function rangeOf(sorted: readonly number[]): { low: number; span: number } {
  const [low = 0, high = 0] = [sorted[0], sorted.at(-1)];
  return high > low ? { low, span: high - low } : { low: low - 0.5, span: 1 };
}

/** Four digits, and no long row of zeros. */
export function shortNumber(value: number): string {
  const rounded = Number(value.toPrecision(4));
  const isFar = rounded !== 0 && (Math.abs(rounded) >= 1e6 || Math.abs(rounded) < 1e-4);
  return isFar ? rounded.toExponential().replace('e+', 'e') : String(rounded);
}
