import { curveAxis, shortNumber, type ValueAxis } from '../axes.ts';
import type { MetricCurves } from '../page-data.ts';
import type { Measured } from '../row-order.ts';
import { drawing, svg } from '@updraft/view/dom';
import { type LineChart, lineLayer, type PixelLine } from './line-layer.ts';

const [left, right, top, bottom] = [52, 26, 14, 34];
/** Between the numbers at the ends of lines. */
const labelHeight = 13;

/** One metric of all jobs over each other; `best` are the jobs in front, the best first. */
export function curveChart(
  { metric, unit, curves }: MetricCurves,
  measured: Measured,
  best: readonly string[],
  shown: ReadonlySet<string>,
  { width, height }: { width: number; height: number },
): LineChart {
  const drawn = Object.entries(curves).filter(([id, points]) => shown.has(id) && points.length > 0);
  const { x, y } = rangesOf(drawn.map(([, points]) => points));
  const { placeX, placeY, axes } = plot(x, y, unit, { width, height });
  const lines = new Map<string, PixelLine>(
    drawn.map(([id, points]) => [
      id,
      points.map((value, index) => (index % 2 === 0 ? placeX(value) : placeY(value))),
    ]),
  );
  const layer = lineLayer(lines, best);
  const element = drawing(
    'chart',
    `${metric} of ${drawn.length} jobs over ${shortNumber(x[1])} ${unit}, ` +
      `from ${shortNumber(y[0])} to ${shortNumber(y[1])}`,
    { width, height },
    ...axes,
    layer.element,
    ...(measured.of === 'best' ? bestPoints(lines, best, measured.isLowerBetter) : []),
    ...endLabels(lines, best, height - bottom),
  );
  return { element, nearest: layer.nearest, pick: layer.pick };
}

type Range = [low: number, high: number];

/** Where the points of a curve are drawn, and the axes around them. */
export function plot(x: Range, y: Range, unit: string, { width, height }: { width: number; height: number }) {
  const [across, up] = [curveAxisFrom(x), curveAxis(...y)];
  const toX = (at: number) => left + at * (width - left - right);
  const toY = (at: number) => height - bottom - at * (height - top - bottom);
  return {
    placeX: (value: number) => toX(across.place(value)),
    placeY: (value: number) => toY(up.place(value)),
    axes: [
      ...up.ticks.map(({ at, label }) => gridLine(toY(at), label, width)),
      ...across.ticks.map(({ at, label }) =>
        svg('text', { x: toX(at), y: height - bottom + 16, 'text-anchor': 'middle' }, label),
      ),
      svg('text', { x: width - right, y: height - 4, 'text-anchor': 'end' }, unit),
    ],
  };
}

const gridLine = (y: number, label: string, width: number) =>
  svg(
    'g',
    {},
    svg('line', { class: 'grid', x1: left, x2: width - right, y1: y, y2: y }),
    svg('text', { x: left - 6, y: y + 4, 'text-anchor': 'end' }, label),
  );

/** Where the lines in colour are at their best. */
function bestPoints(lines: ReadonlyMap<string, PixelLine>, best: readonly string[], isLower: boolean) {
  return best.flatMap((id, rank) => {
    const line = lines.get(id) ?? [];
    // The y of pixels grows downwards.
    const heights = line.filter((_, index) => index % 2 === 1);
    const at = heights.indexOf(isLower ? Math.max(...heights) : Math.min(...heights));
    const [cx, cy] = [line[2 * at], line[2 * at + 1]];
    if (cx === undefined || cy === undefined) return [];
    return [svg('circle', { class: 'best-point', cx, cy, r: 4, 'data-rank': rank })];
  });
}

/** Their ranks where the lines end, moved apart: colour is never the only sign. */
function endLabels(lines: ReadonlyMap<string, PixelLine>, best: readonly string[], floor: number) {
  const ends = best.flatMap((id, rank) => {
    const [x, y] = lines.get(id)?.slice(-2) ?? [];
    return x === undefined || y === undefined ? [] : [{ rank, x, y }];
  });
  ends.sort((a, b) => a.y - b.y || a.rank - b.rank);
  let next = 0;
  return ends.map(({ rank, x, y }, index) => {
    const below = (ends.length - 1 - index) * labelHeight;
    next = Math.max(next, Math.min(y, floor - below));
    const text = svg('text', { class: 'rank', x: x + 5, y: next + 4, 'data-rank': rank }, `${rank + 1}`);
    next += labelHeight;
    return text;
  });
}

/** A training begins at 0, whatever is reported first. */
const curveAxisFrom = ([, high]: Range): ValueAxis => {
  const end = high > 0 ? high : 1;
  const axis = curveAxis(0, end);
  return { ...axis, ticks: axis.ticks.filter(({ at }) => at <= 0.9 || at > 0.999) };
};

export function rangesOf(all: readonly (readonly number[])[]) {
  const range = (odd: 0 | 1): Range => {
    let [low, high] = [Infinity, -Infinity];
    for (const points of all)
      for (let index = odd; index < points.length; index += 2) {
        const value = points[index] ?? 0;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    return low > high ? [0, 1] : [low, high];
  };
  return { x: range(0), y: range(1) };
}
