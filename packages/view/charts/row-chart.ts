import { formatMillis } from '../format.ts';
import { across, horizontalAxis } from './axes.ts';
import { badColour, chartLegend, type ChartPart, markColour } from './palette.ts';
import { linearScale, type Scale, timeUnit, type Unit } from './scale.ts';
import { dots, element, escapeMarkup, label, nameRoom, picture } from './svg.ts';

interface RowPlot {
  /** The name of the axis. */
  axis: string;
  description?: string;
  width?: number;
}

type Drawing = (middle: number, x: (value: number) => number) => string;

/** A row per name over one horizontal axis. */
function rowChart(
  names: readonly string[],
  scale: Scale,
  rowHeight: number,
  { axis, description = '', width = 720 }: RowPlot,
  draw: (row: number) => Drawing,
  { markup, height: top }: { markup: string; height: number },
): string {
  const { left, draw: drawName } = nameRoom(names);
  const begin = top + 12;
  const edges = { left, right: width - 22, top: begin, bottom: begin + names.length * rowHeight };
  const x = across(edges, scale);
  const rows = names.map((name, row) => {
    const middle = begin + (row + 0.5) * rowHeight;
    return drawName(middle + 4, name) + draw(row)(middle, x);
  });
  return picture(
    { description, width, height: edges.bottom + 44 },
    markup,
    horizontalAxis(scale, edges, axis),
    ...rows,
  );
}

interface Bar<P extends string = string> {
  part: P;
  from: number;
  to: number;
  /** Waits are. */
  isThin?: boolean;
  /** Of its colour, from 0 to 1. */
  strength?: number;
  /** If not how long it is. */
  words?: string;
}

export interface BarRow<P extends string = string> {
  name: string;
  /** From and to in seconds. */
  bars: readonly Bar<P>[];
  /** Moments. */
  ticks?: readonly number[];
}

type ChartParts<P extends string = string> = Readonly<Record<P, ChartPart>>;

/** Bars along a row, in the colours of their parts, with their names as tooltips. */
function barRow<P extends string>(
  { name, bars, ticks = [] }: BarRow<P>,
  parts: ChartParts<P>,
  middle: number,
  x: (value: number) => number,
): string {
  const drawn = bars.map(({ part, from, to, isThin = false, strength, words }) => {
    const height = isThin ? 4 : 14;
    const place = { x: x(from), y: middle - height / 2, width: Math.max(0.3, x(to) - x(from)), height };
    const { colour, label: means } = parts[part];
    const style = { 'data-phase': part, fill: colour, 'fill-opacity': strength };
    const title = `${name}: ${words ?? `${formatMillis((to - from) * 1000)} ${means}`}`;
    return element('rect', { ...place, ...style }, element('title', {}, escapeMarkup(title)));
  });
  const d = ticks.map((at) => `M${x(at).toFixed(1)} ${middle - 8}v16`).join('');
  return (
    drawn.join('') + (d === '' ? '' : element('path', { d, stroke: 'currentColor', 'stroke-width': 0.8 }))
  );
}

/** A row of bars per name, over time. */
export function barChart<P extends string>(
  rows: readonly BarRow<P>[],
  parts: ChartParts<P>,
  plot: RowPlot,
): string {
  const max = rows.reduce((end, { bars }) => bars.reduce((last, { to }) => Math.max(last, to), end), 0);
  const used = new Set(rows.flatMap(({ bars }) => bars.map(({ part }) => part)));
  const key = (Object.keys(parts) as P[]).filter((part) => used.has(part)).map((part) => parts[part]);
  const scale = linearScale(0, max, timeUnit(max), true);
  const legend = chartLegend(key, 4, (plot.width ?? 720) - 8);
  const described = rows.map(({ name, bars }) => {
    const sum = bars.reduce((all, { from, to }) => all + to - from, 0);
    return `${name}: ${formatMillis(sum * 1000)}`;
  });
  const names = rows.map(({ name }) => name);
  return rowChart(
    names,
    scale,
    20,
    { description: described.join('; '), ...plot },
    (row) => (middle, x) => barRow(rows[row] ?? { name: '', bars: [] }, parts, middle, x),
    legend,
  );
}

/** Bars of these lengths, one after the other. */
export function stacked<P extends string>(lengths: readonly (readonly [P, number])[]): Bar<P>[] {
  let at = 0;
  return lengths
    .filter(([, length]) => length > 0)
    .map(([part, length]) => ({ part, from: at, to: (at += length) }));
}

export interface Strip {
  name: string;
  /** Each is a dot. */
  values: { name: string; value: number }[];
  mean: number;
  median: number;
}

interface StripPlot extends RowPlot {
  unit: (max: number) => Unit;
  /** Where the axis begins, if not at 0. */
  from?: number;
  /** How many rows there may be. */
  max?: number;
  show: (value: number) => string;
}

/** A row per name: every value a dot, the mean as a diamond and the median as a line. */
export function stripChart(all: readonly Strip[], plot: StripPlot): string {
  const { unit, show, from = 0, max: maxStrips = 12 } = plot;
  const filled = all.filter(({ values }) => values.length > 0);
  const strips = filled.slice(0, maxStrips);
  const max = strips.reduce(
    (most, { values }) => values.reduce((top, { value }) => Math.max(top, value), most),
    0,
  );
  const drawStrip =
    ({ values, mean, median }: Strip): Drawing =>
    (middle, x) => {
      const places = values.map(({ value }, index) => ({ x: x(value), y: middle + scatter(index) }));
      const titleOf = (index: number) => `${values[index]?.name ?? ''}: ${show(values[index]?.value ?? 0)}`;
      return dots(places, markColour, titleOf) + medianLine(x(median), middle, 17) + diamond(x(mean), middle);
    };
  const described = strips.map(
    ({ name, values, mean, median }) =>
      `${name}: ${values.length}, mean ${show(mean)}, median ${show(median)}`,
  );
  const markup = [
    strips.length < filled.length ? label(8, 14, `the first ${maxStrips} of ${filled.length}`) : '',
    diamond(536, 10) + label(546, 14, 'mean'),
    medianLine(600, 10, 7) + label(606, 14, 'median'),
  ].join('');
  return rowChart(
    strips.map(({ name }) => name),
    linearScale(from, max, unit(max), true),
    46,
    { ...plot, description: described.join('; ') },
    (row) => drawStrip(strips[row] ?? { name: '', values: [], mean: 0, median: 0 }),
    { markup, height: 12 },
  );
}

/** A deterministic jitter around the middle. */
const scatter = (index: number): number => ((index * 7) % 11) * 2.4 - 12;

const medianLine = (x: number, y: number, reach: number): string =>
  element('line', { x1: x, x2: x, y1: y - reach, y2: y + reach, stroke: 'currentColor', 'stroke-width': 2 });

const diamond = (x: number, y: number): string =>
  element('path', { d: `M${x.toFixed(1)} ${(y - 6).toFixed(1)}l6 6l-6 6l-6 -6z`, fill: badColour });
