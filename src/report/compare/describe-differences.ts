import { firstFew } from '../../base/printable.ts';
import { neededPerSample } from '../../statistics/sample-size.ts';
import type { GroupValues, MeasuredGroups, PairTest } from './measured-groups.ts';
import type { Measure } from './measures.ts';

/** Below this, chance alone seldom makes such a difference. */
export const noiseLevel = 0.05;
const seenShare = 0.1;
const maxPairs = 10;
/** More than this nobody will run. */
const maxNeeded = 10_000;

/** Whether the groups differ by more than noise, in sentences. `tested` are those with at least two values. */
export function describeDifferences(
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
  return [
    ...said,
    ...(hidden > 0 ? [`${hidden} more pairs differ by more than noise: --json has them.`] : []),
    ...(pairs.length > found.length ? [othersText(pairs.filter(({ p }) => p >= noiseLevel))] : []),
  ];
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
