import { firstFew } from '../../base/printable.ts';
import { costInterval, medianInterval, type Interval } from '../../statistics/bootstrap.ts';
import { completionCurve, type CompletionPoint } from '../../statistics/completion-curve.ts';
import { ascending, mean, quantile, standardDeviation } from '../../statistics/describe.ts';
import { holm, kruskalWallis, mannWhitney, type RankTest } from '../../statistics/rank-tests.ts';
import { unknownSite } from '../sites.ts';
import { describeDifferences, noiseLevel } from './describe-differences.ts';
import type { GroupValues, MeasuredGroups, PairTest } from './measured-groups.ts';
import type { Measure } from './measures.ts';
import type { ComparedSample, SampleGroup } from './samples.ts';

/** What a valid result costs a group, failures included. */
export interface GroupCost {
  name: string;
  /** Jobs, or attempts if these are grouped. */
  n: number;
  valid: number;
  slotSecondsPerValid: number | null;
  slotSecondsPerValidInterval: Interval | null;
  /** Null where nothing says how many GPUs the slots had. */
  gpuSeconds: number | null;
  gpuSecondsPerValid: number | null;
}

/** With more groups than this, only the first are tested. */
const maxTested = 20;

export function measureGroups(groups: readonly SampleGroup[], measure: Measure): MeasuredGroups {
  const described = groups.map(({ name, samples }) => describeValues(name, valuesOf(samples, measure)));
  const several = described.filter(({ name, n }) => name !== unknownSite && n > 1);
  const tested = several.slice(0, maxTested);
  const test = testOf(tested);
  const pairs = test === null || test.p >= noiseLevel ? [] : pairTests(tested, test);
  const { name, title, isLowerBetter } = measure;
  const measured = { name, title, isLowerBetter, groups: described, test, pairs };
  const said = describeDifferences(measured, tested, measure);
  if (tested.length < several.length)
    said.push(`Only the first ${tested.length} of ${several.length} groups were tested.`);
  return { ...measured, said: [...said, ...leftOut(groups, measure)] };
}

/** A training that diverged has no rank, but must not be missed. */
function leftOut(groups: readonly SampleGroup[], { isNotFinite = () => false }: Measure): string[] {
  const counts = groups.map(({ name, samples }) => ({ name, count: samples.filter(isNotFinite).length }));
  const odd = counts.filter(({ count }) => count > 0).map(({ name, count }) => `${name} (${count})`);
  return odd.length === 0 ? [] : [`Left out, because NaN or infinite: ${firstFew(odd, 6)}.`];
}

const valuesOf = (samples: readonly ComparedSample[], { of }: Measure): number[] =>
  samples.flatMap((sample) => of(sample) ?? []);

function describeValues(name: string, values: number[]): GroupValues {
  const sorted = ascending(values);
  return {
    name,
    n: values.length,
    mean: mean(sorted),
    median: quantile(sorted, 0.5),
    interval: medianInterval(sorted),
    p95: quantile(sorted, 0.95),
    q1: quantile(sorted, 0.25),
    q3: quantile(sorted, 0.75),
    deviation: standardDeviation(sorted),
    values,
  };
}

function testOf(tested: readonly GroupValues[]): MeasuredGroups['test'] {
  const [a, b, ...more] = tested;
  if (a === undefined || b === undefined) return null;
  const isPair = more.length === 0;
  const test = isPair ? mannWhitney(a.values, b.values) : kruskalWallis(tested.map(({ values }) => values));
  return test && { ...test, name: isPair ? 'Mann–Whitney' : 'Kruskal–Wallis' };
}

function pairTests(tested: readonly GroupValues[], { p }: RankTest): PairTest[] {
  const pairs = tested.flatMap((a, at) => tested.slice(at + 1).map((b) => [a, b] as const));
  const found =
    pairs.length === 1 ? [p] : holm(pairs.map(([a, b]) => mannWhitney(a.values, b.values)?.p ?? 1));
  return pairs.map(([a, b], at) => ({ groups: [a.name, b.name], p: found[at] ?? 1 }));
}

export function groupCost({ name, samples }: SampleGroup): GroupCost {
  const valid = samples.filter(({ isValid }) => isValid === true).length;
  const total = (of: (sample: ComparedSample) => number | null) =>
    samples.reduce((sum, sample) => sum + (of(sample) ?? 0), 0);
  const slotSeconds = total((sample) => sample.slotSeconds);
  const gpuSeconds = samples.some((sample) => sample.gpuSeconds !== null)
    ? total((sample) => sample.gpuSeconds)
    : null;
  const perValid = (seconds: number | null) => (valid === 0 || seconds === null ? null : seconds / valid);
  return {
    name,
    n: samples.length,
    valid,
    slotSecondsPerValid: perValid(slotSeconds),
    slotSecondsPerValidInterval: costInterval(
      samples.map((sample) => ({ cost: sample.slotSeconds, isSuccess: sample.isValid === true })),
    ),
    gpuSeconds,
    gpuSecondsPerValid: perValid(gpuSeconds),
  };
}

/** The share of a group with a valid result, over the time since the first match, and when others were last seen. */
export interface GroupCurve {
  name: string;
  points: CompletionPoint[];
  /** Jobs that had not ended. */
  censoredSeconds: number[];
}

/**
 * Kaplan–Meier. A job that ended without a valid result will never have one: it stays in the count to the end, so that
 * failures hold the curve down. One that has not ended counts until it was last seen.
 */
export function groupCurve({ name, samples }: SampleGroup): GroupCurve {
  const lifetimes = samples.map(({ isValid, seconds }) => ({
    seconds: isValid === false ? Infinity : seconds,
    isDone: isValid === true,
  }));
  const open = samples.filter(({ isValid }) => isValid === null);
  return { name, points: completionCurve(lifetimes), censoredSeconds: open.map(({ seconds }) => seconds) };
}
