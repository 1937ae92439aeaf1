import { firstFew, given } from '@updraft/base';
import { costInterval, medianInterval, type Interval } from '../../statistics/intervals.ts';
import {
  completionCurve,
  type CompletionPoint,
  ascending,
  mean,
  quantile,
  standardDeviation,
} from '../../statistics/describe.ts';
import {
  holm,
  kruskalWallis,
  mannWhitney,
  type RankTest,
  neededPerSample,
} from '../../statistics/rank-tests.ts';
import { unknownSite } from '../sites.ts';
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
  const found = groups.map(({ name, samples }) => ({ name, values: valuesOf(samples, measure) }));
  const limits = measure.limits?.(found.flatMap(({ values }) => values));
  const described = found.map(({ name, values }) => describeValues(name, values, limits));
  const several = described.filter(({ name, n }) => name !== unknownSite && n > 1);
  const tested = several.slice(0, maxTested);
  const test = testOf(tested);
  const pairs = test === null || test.p >= noiseLevel ? [] : pairTests(tested, test);
  const { name, title, isLowerBetter } = measure;
  const measured = { name, title, isLowerBetter, groups: described, test, pairs };
  const said = describeDifferences(measured, tested, measure);
  if (tested.length < several.length)
    said.push(`Only the first ${tested.length} of ${several.length} groups were tested.`);
  return { ...measured, said: [...said, ...leftOut(groups, measure), ...withoutValue(groups, measure)] };
}

/** A training that diverged has no rank, but must not be missed. */
function leftOut(groups: readonly SampleGroup[], { isNotFinite = () => false }: Measure): string[] {
  const counts = groups.map(({ name, samples }) => ({ name, count: samples.filter(isNotFinite).length }));
  const odd = counts.filter(({ count }) => count > 0).map(({ name, count }) => `${name} (${count})`);
  return odd.length === 0 ? [] : [`Left out, because NaN or infinite: ${firstFew(odd, 6)}.`];
}

/** Groups with valid results that are not in the table. */
function withoutValue(groups: readonly SampleGroup[], { of, isNotFinite }: Measure): string[] {
  const valid = groups.filter(({ samples }) => samples.some(({ isValid }) => isValid === true));
  const lacking = valid.filter(({ samples }) =>
    samples.every((one) => of(one) === null && isNotFinite?.(one) !== true),
  );
  const names = lacking.map(({ name }) => name);
  if (names.length === 0) return [];
  return [`No valid result${names.length === valid.length ? '' : ` of ${firstFew(names, 6)}`} has a value.`];
}

const valuesOf = (samples: readonly ComparedSample[], { of }: Measure): number[] =>
  samples.flatMap((sample) => of(sample) ?? []);

function describeValues(name: string, values: number[], limits?: Interval): GroupValues {
  const sorted = ascending(values);
  return {
    name,
    n: values.length,
    mean: mean(sorted),
    median: quantile(sorted, 0.5),
    interval: medianInterval(sorted, limits),
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

/**
 * The share of a group with a valid result, over the time since the first match, and until when others were
 * watched.
 */
export interface GroupCurve {
  name: string;
  points: CompletionPoint[];
  /** Jobs that had not ended. */
  censoredSeconds: number[];
}

/**
 * Kaplan–Meier. A job that ended without a valid result will never have one: it stays in the count to the end, so that
 * failures hold the curve down. One that has not ended counts until its log does.
 */
export function groupCurve({ name, samples }: SampleGroup): GroupCurve {
  const lifetimes = samples.map(({ isValid, seconds }) => ({
    seconds: isValid === false ? Infinity : seconds,
    isDone: isValid === true,
  }));
  const open = samples.filter(({ isValid }) => isValid === null);
  return { name, points: completionCurve(lifetimes), censoredSeconds: open.map(({ seconds }) => seconds) };
}

/** Below this, chance alone seldom makes such a difference. */
const noiseLevel = 0.05;
const seenShare = 0.1;
const maxPairs = 10;
/** More than this nobody will run. */
const maxNeeded = 10_000;

/** Whether the groups differ by more than noise, in sentences. `tested` are those with at least two values. */
function describeDifferences(
  { test, pairs }: Pick<MeasuredGroups, 'test' | 'pairs'>,
  tested: readonly GroupValues[],
  measure: Measure,
): string[] {
  if (test === null) return [];
  const sizes = tested.map(({ n }) => n);
  if (minPossible(sizes) >= noiseLevel)
    return [`Too few to compare: with ${sizes.join(' and ')}, even a complete separation may be chance.`];
  const all =
    tested.length === 2 ? `${tested[0]?.name} and ${tested[1]?.name}` : `the ${tested.length} groups`;
  if (test.p >= noiseLevel)
    return [`No difference beyond noise between ${all} (${formatP(test.p)}).${neededText(tested)}`];
  const found = pairs.filter(({ p }) => p < noiseLevel);
  const said = found.slice(0, maxPairs).map((pair) => describePair(pair, tested, measure));
  if (found.length === 0)
    return [`The groups differ (${formatP(test.p)}), but no pair of them by more than noise.`];
  const hidden = found.length - said.length;
  return given(
    ...said,
    hidden > 0 && `${hidden} more pairs differ by more than noise: --json has them.`,
    pairs.length > found.length && othersText(pairs.filter(({ p }) => p >= noiseLevel)),
  );
}

function othersText(pairs: readonly PairTest[]): string {
  const names = pairs.map(({ groups: [a, b] }) => `${a} and ${b}`);
  return `No difference beyond noise: ${firstFew(names, 4)}.`;
}

function describePair({ groups, p }: PairTest, tested: readonly GroupValues[], measure: Measure): string {
  const [a, b] = groups.map((name) => tested.find((group) => group.name === name));
  if (a === undefined || b === undefined) return '';
  const [x, y] = [a.median ?? 0, b.median ?? 0];
  const [better, worse] = x < y === measure.isLowerBetter ? [a, b] : [b, a];
  const medians = `median ${measure.show(better.median ?? 0)} against ${measure.show(worse.median ?? 0)}`;
  const verb = x === y ? 'differs from' : measure.phrase;
  return `${better.name} ${verb} ${worse.name}: ${medians}; more than noise (${formatP(p)}).`;
}

function neededText(tested: readonly GroupValues[]): string {
  const needed = neededPerSample(
    tested.map(({ values }) => values),
    seenShare,
  );
  if (needed === null || needed > maxNeeded) return '';
  const smallest = Math.min(...tested.map(({ n }) => n));
  if (needed <= smallest) return ` A difference of ${seenShare * 100} % would most likely have been seen.`;
  return ` About ${needed} each would show a difference of ${seenShare * 100} %.`;
}

/** The smallest p-value that samples of these sizes can have, if they are two. */
function minPossible(sizes: readonly number[]): number {
  const [a = 0, b = 0, ...more] = sizes;
  if (more.length > 0) return 0;
  let choices = 1;
  for (let at = 1; at <= a && choices < 1e9; at++) choices = (choices * (b + at)) / at;
  return 2 / choices;
}

const formatP = (p: number): string => (p < 0.001 ? 'p < 0.001' : `p = ${Number(p.toPrecision(2))}`);

/** The values of a group. Times are seconds; the spread is the interquartile range, `q3` − `q1`. */
export interface GroupValues {
  name: string;
  n: number;
  mean: number | null;
  median: number | null;
  /**
   * 95 %: of the median, exact; with fewer than six values, of the mean, by Student's t, within the limits of the
   * measure.
   */
  interval: Interval | null;
  p95: number | null;
  q1: number | null;
  q3: number | null;
  deviation: number | null;
  values: number[];
}

/** Two groups: how likely such a difference is by chance, adjusted for the number of pairs (Holm). */
interface PairTest {
  groups: [string, string];
  p: number;
}

/** One measure of all groups. */
export interface MeasuredGroups {
  name: string;
  title: string;
  isLowerBetter: boolean;
  groups: GroupValues[];
  /** Mann–Whitney for two groups, Kruskal–Wallis for more; null with fewer than two groups of two values. */
  test: (RankTest & { name: 'Mann–Whitney' | 'Kruskal–Wallis' }) | null;
  /** Only if the test of all groups found a difference. */
  pairs: PairTest[];
  /** What this says, in sentences. */
  said: string[];
}
