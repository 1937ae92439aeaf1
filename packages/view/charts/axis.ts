import { element, label } from './svg.ts';

/** The step between ticks, 1, 2 or 5 times a power of ten, that divides a span into about this number of parts. */
export function tickStep(span: number, about: number): number {
  const rough = span / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5, 10].find((factor) => power * factor >= rough) ?? 10);
}

/** Steps from `min` or less to at least `max`. */
function ticks(min: number, max: number, about = 5): number[] {
  if (!(max > min)) return [min, min + 1];
  const step = tickStep(max - min, about);
  const [first, last] = [Math.floor(min / step + 1e-9), Math.ceil(max / step - 1e-9)];
  return Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}

export interface Unit {
  /** Empty for a bare number. */
  name: string;
  /** In base units. */
  size: number;
}

export function timeUnit(seconds: number): Unit {
  if (seconds >= 5400) return { name: 'hours', size: 3600 };
  return seconds >= 120 ? { name: 'minutes', size: 60 } : { name: 'seconds', size: 1 };
}

export const rateUnit = (bytesPerSecond: number): Unit =>
  bytesPerSecond >= 1e6 ? { name: 'MB/s', size: 1e6 } : { name: 'kB/s', size: 1000 };

/** A measure from 0, or `min`, to at least `max`, along `length` pixels. */
export interface Scale {
  unit: Unit;
  steps: number[];
  /** Pixels from the origin of the axis. */
  place: (value: number) => number;
}

export function scaleTo(max: number, length: number, unit: Unit, min = 0): Scale {
  const steps = ticks(min / unit.size, max / unit.size);
  const [start = 0, end = 1] = [steps[0], steps.at(-1)];
  return { unit, steps, place: (value) => ((value / unit.size - start) / (end - start)) * length };
}

interface Edges {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Grid lines, with labels and the name of the axis below. */
export function horizontalAxis(
  { unit, steps, place }: Scale,
  { left, right, top, bottom }: Edges,
  name: string,
): string {
  const lines = steps.map((step) => {
    const x = left + place(step * unit.size);
    return gridLine(x, top, x, bottom) + label(x, bottom + 16, String(step), { 'text-anchor': 'middle' });
  });
  return (
    lines.join('') + label((left + right) / 2, bottom + 34, titleOf(name, unit), { 'text-anchor': 'middle' })
  );
}

/** Grid lines, with labels on the left and the name of the axis above. */
export function verticalAxis(
  { unit, steps, place }: Scale,
  { left, right, top, bottom }: Edges,
  name: string,
): string {
  const lines = steps.map((step) => {
    const y = bottom - place(step * unit.size);
    return gridLine(left, y, right, y) + label(left - 6, y + 4, String(step), { 'text-anchor': 'end' });
  });
  return lines.join('') + label(4, top - 10, titleOf(name, unit));
}

const titleOf = (name: string, unit: Unit): string => (unit.name === '' ? name : `${name} (${unit.name})`);

const gridLine = (x1: number, y1: number, x2: number, y2: number): string =>
  element('line', { x1, y1, x2, y2, stroke: 'currentColor', 'stroke-opacity': 0.2 });
