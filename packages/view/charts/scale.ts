/** Where values are drawn on an axis of length 1, and which are labelled. */
export interface Scale {
  place: (value: number) => number;
  ticks: readonly { at: number; label: string }[];
  /** Empty for bare numbers. */
  unit: string;
}

export interface Unit {
  /** Empty for a bare number. */
  name: string;
  /** In base units. */
  size: number;
}

const bare: Unit = { name: '', size: 1 };

export function timeUnit(seconds: number): Unit {
  if (seconds >= 5400) return { name: 'hours', size: 3600 };
  return seconds >= 120 ? { name: 'minutes', size: 60 } : { name: 'seconds', size: 1 };
}

export const rateUnit = (bytesPerSecond: number): Unit =>
  bytesPerSecond >= 1e6 ? { name: 'MB/s', size: 1e6 } : { name: 'kB/s', size: 1000 };

/** The step between ticks, 1, 2 or 5 times a power of ten, that divides a span into about this number of parts. */
function tickStep(span: number, about: number): number {
  const rough = span / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5, 10].find((factor) => power * factor >= rough) ?? 10);
}

/** Labelled at round numbers; `isWhole`: it also begins and ends at such. */
export function linearScale(low: number, high: number, unit = bare, isWhole = false): Scale {
  let [from, to] = [low / unit.size, high / unit.size];
  // A single value is in the middle.
  if (!(to > from)) [from, to] = isWhole ? [from, from + 1] : [from - 0.5, from + 0.5];
  const step = tickStep(to - from, 5);
  if (isWhole) [from, to] = [Math.floor(from / step + 1e-9) * step, Math.ceil(to / step - 1e-9) * step];
  const first = Math.ceil(from / step - 1e-9);
  const count = Math.floor(to / step + 1e-9) - first + 1;
  const at = (value: number): number => (value - from) / (to - from);
  const ticks = Array.from({ length: Math.max(0, count) }, (_, index) => (first + index) * step);
  return {
    place: (value) => at(value / unit.size),
    ticks: ticks.map((value) => ({ at: at(value), label: shortNumber(value) })),
    unit: unit.name,
  };
}

/** Labelled at powers of ten; over few of them, between these too. Values must be above 0. */
export function logScale(low: number, high: number): Scale {
  const { place } = linearScale(Math.log10(low), Math.log10(high));
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const every = Math.max(1, Math.ceil((last - first) / 6));
  const factors = last - first > 2 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = first; power <= last; power += every)
    for (const factor of factors) {
      const at = place(Math.log10(factor) + power);
      if (at > -1e-9 && at < 1 + 1e-9) ticks.push({ at, label: shortNumber(factor * 10 ** power) });
    }
  return { place: (value) => place(Math.log10(value)), ticks, unit: '' };
}

/** Four digits, and no long row of zeros. */
export function shortNumber(value: number): string {
  const rounded = Number(value.toPrecision(4));
  const isFar = rounded !== 0 && (Math.abs(rounded) >= 1e6 || Math.abs(rounded) < 1e-4);
  return isFar ? rounded.toExponential().replace('e+', 'e') : String(rounded);
}
