import { createHash } from 'node:crypto';

/** The values that a parameter may have: a list, or a range of one kind. */
export type SearchRange =
  | readonly Value[]
  | { log?: Ends | undefined; uniform?: Ends | undefined; int?: Ends | undefined };
type Ends = readonly [number, number];
type Value = string | number | boolean;
export type Trial = Record<string, Value>;

export const isList = (range: SearchRange): range is readonly Value[] => Array.isArray(range);

/** Whole numbers and lists can be counted. */
function countable(range: SearchRange): readonly Value[] {
  if (isList(range)) return range;
  const [low, high] = range.int ?? [0, -1];
  return Array.from({ length: high - low + 1 }, (_, at) => low + at);
}

/** How many different trials there are; Infinity if a range has any number of values. */
export const spaceSize = (ranges: Readonly<Record<string, SearchRange>>): number =>
  Object.values(ranges).reduce((product, range) => product * sizeOf(range), 1);

const sizeOf = (range: SearchRange): number =>
  isList(range) ? range.length : range.int === undefined ? Infinity : range.int[1] - range.int[0] + 1;

/** Whether a value that someone else has drawn is one of the range. */
export function isInRange(range: SearchRange, value: unknown): boolean {
  if (isList(range)) return range.some((one) => one === value);
  const [low, high] = range.log ?? range.uniform ?? range.int ?? [0, -1];
  const isWhole = range.int === undefined || Number.isInteger(value);
  return typeof value === 'number' && low <= value && value <= high && isWhole;
}

/** Every combination, the last parameter changing fastest; ranges that have no end are left out. */
export function gridTrials(ranges: Readonly<Record<string, SearchRange>>): Trial[] {
  return Object.entries(ranges).reduce<Trial[]>(
    (made, [name, range]) =>
      made.flatMap((one) => countable(range).map((value) => ({ ...one, [name]: value }))),
    [{}],
  );
}

const maxDraws = 100;

/**
 * The first `count` trials of a seed, no two alike. Each value depends on the seed, the number of the draw and the name
 * of its parameter only: more trials, or another order of the ranges, change none of them. Nobody asks for more than
 * `spaceSize`; where rounding leaves fewer, some are alike.
 */
export function randomTrials(
  ranges: Readonly<Record<string, SearchRange>>,
  count: number,
  seed: number,
): Trial[] {
  const made = new Map<string, Trial>();
  for (let draw = 0; made.size < count; draw++) {
    const trial = Object.fromEntries(
      Object.entries(ranges).map(([name, range]) => [name, pick(range, fraction(`${seed} ${draw} ${name}`))]),
    );
    const key = JSON.stringify(Object.entries(trial).sort());
    if (!made.has(key)) made.set(key, trial);
    else if (draw > maxDraws * made.size) made.set(`${draw}`, trial);
  }
  return [...made.values()];
}

/** From 0 up to 1: the first 53 bits of a hash, the same on every machine and for ever. */
const fraction = (text: string): number =>
  Number(createHash('sha256').update(text).digest().readBigUInt64BE() >> 11n) / 2 ** 53;

function pick(range: SearchRange, at: number): Value {
  if (isList(range)) return range[Math.floor(at * range.length)] ?? '';
  const { log, uniform, int = [0, 0] } = range;
  if (log !== undefined) return rounded(log[0] * (log[1] / log[0]) ** at, log);
  if (uniform !== undefined) return rounded(uniform[0] + (uniform[1] - uniform[0]) * at, uniform);
  return int[0] + Math.floor(at * (int[1] - int[0] + 1));
}

/** As many digits as people compare, and those more that the ends of a narrow range have in common. */
const rounded = (value: number, [low, high]: Ends): number => {
  const common = Math.max(0, Math.floor(Math.log10(Math.max(-low, high) / (high - low))));
  return Math.min(high, Math.max(low, Number(value.toPrecision(Math.min(17, 4 + common)))));
};
