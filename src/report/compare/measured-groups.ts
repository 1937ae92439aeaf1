import type { Interval } from '../../statistics/bootstrap.ts';
import type { RankTest } from '../../statistics/rank-tests.ts';

/** The values of a group. Times are seconds; the spread is the interquartile range, `q3` − `q1`. */
export interface GroupValues {
  name: string;
  n: number;
  mean: number | null;
  median: number | null;
  /** The bootstrap interval of the median: 95 %, percentiles of 2,000 resamples. */
  interval: Interval | null;
  p95: number | null;
  q1: number | null;
  q3: number | null;
  deviation: number | null;
  values: number[];
}

/** Two groups: how likely such a difference is by chance, adjusted for the number of pairs (Holm). */
export interface PairTest {
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
