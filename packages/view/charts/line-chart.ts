import { across, horizontalAxis, upwards, verticalAxis } from './axes.ts';
import { groupColours } from './palette.ts';
import type { Scale } from './scale.ts';
import { element, escapeMarkup, label, nameLabels, picture } from './svg.ts';

export interface Line {
  id: string;
  /** x, y, x, y … from left to right. */
  points: readonly number[];
  /** The outline of the band around it: x, lowest, x, lowest … and back x, highest … */
  band?: readonly number[];
  /** Places to mark: x, y … */
  ticks?: readonly number[];
  /** For the legend, and with its value for the tooltip. */
  name?: string;
  value?: string;
}

interface LinePlot {
  description: string;
  width: number;
  height: number;
  x: { scale: Scale; name: string };
  y: { scale: Scale; name: string };
  /** How many lines have a colour and a number, the first in front; the rest is grey. */
  coloured: number;
  /** Lists the lines in colour. */
  hasLegend?: true;
}

/** A drawing, and the pixels of its lines: x, y, x, y … */
export interface DrawnLines {
  svg: string;
  lines: ReadonlyMap<string, readonly number[]>;
}

const legendRow = 18;

/** Lines over each other, with bands around them. */
export function lineChart(all: readonly Line[], plot: LinePlot): DrawnLines {
  const { width, x, y, coloured, hasLegend = false, description } = plot;
  const front = all.slice(0, coloured);
  const legend = hasLegend ? legendOf(front, all.length - front.length) : [];
  const top = 28 + legend.length * legendRow;
  const height = plot.height + legend.length * legendRow;
  const widest = y.scale.ticks.reduce((most, tick) => Math.max(most, tick.label.length), 2);
  const edges = { left: 10 + 7.5 * widest, right: width - 26, top, bottom: height - 44 };
  const [placeX, placeY] = [across(edges, x.scale), upwards(edges, y.scale)];
  const placed = (points: readonly number[] = []) =>
    points.map((value, index) => (index % 2 === 0 ? placeX(value) : placeY(value)));
  const pixels = all.map(({ points }) => placed(points));
  const bands = front.map(({ band }, rank) => {
    const style = { class: 'band', fill: groupColour(rank), 'fill-opacity': 0.16, 'data-rank': rank };
    return band === undefined ? '' : element('path', { d: `${pathOf(placed(band))}Z`, ...style });
  });
  const lines = front.map(({ name = '', value, ticks }, rank) => {
    const marks = pairs(placed(ticks)).map((place) => `M${place.join(' ')}m0 -5v10`);
    const stroke = { class: 'line', stroke: groupColour(rank), 'stroke-width': 2, 'data-rank': rank };
    const title = value === undefined ? '' : element('title', {}, escapeMarkup(`${name}: ${value}`));
    return element('path', { d: pathOf(pixels[rank]) + marks.join(''), ...stroke, ...round }, title);
  });
  const rest = pixels.slice(coloured).map((line) => pathOf(line));
  const svg = picture(
    { description, width, height },
    ...legend,
    horizontalAxis(x.scale, edges, x.name, false),
    verticalAxis(y.scale, edges, y.name),
    ...bands,
    // One element: there may be ten thousand.
    element('path', { d: rest.join(''), class: 'others', stroke: '#999', 'stroke-opacity': 0.5, ...round }),
    ...lines.reverse(),
    ...endNumbers(pixels.slice(0, coloured), edges.bottom),
  );
  return { svg, lines: new Map(all.map(({ id }, index) => [id, pixels[index] ?? []])) };
}

const round = { fill: 'none', 'stroke-linejoin': 'round', 'stroke-linecap': 'round' };

const groupColour = (rank: number): string => groupColours[rank % groupColours.length] ?? '';

const pairs = (points: readonly number[]): string[][] =>
  points.flatMap((x, at) => (at % 2 === 0 ? [[x.toFixed(1), (points[at + 1] ?? 0).toFixed(1)]] : []));

/** A line of one point is a dot: its ends are round. */
export function pathOf(line: readonly number[] = []): string {
  const places = pairs(line).map((place) => place.join(' '));
  return places.length === 0 ? '' : `M${places.join('L')}${places.length === 1 ? 'h.1' : ''}`;
}

/** Between the numbers at the ends of lines. */
const numberHeight = 13;

/** Their numbers where the lines end, moved apart: colour is never the only sign. */
function endNumbers(lines: readonly (readonly number[])[], bottom: number): string[] {
  const ends = lines.flatMap((line, rank) =>
    line.length === 0 ? [] : [{ rank, x: line.at(-2) ?? 0, y: line.at(-1) ?? 0 }],
  );
  ends.sort((a, b) => a.y - b.y || a.rank - b.rank);
  let next = 0;
  return ends.map(({ rank, x, y }, index) => {
    next = Math.max(next, Math.min(y, bottom - (ends.length - 1 - index) * numberHeight)) + numberHeight;
    return numberOf(x + 5, next - numberHeight + 4, rank);
  });
}

const numberOf = (x: number, y: number, rank: number): string =>
  label(x, y, String(rank + 1), { class: 'rank', fill: groupColour(rank), 'data-rank': rank });

/** A row each. */
function legendOf(lines: readonly Line[], more: number): string[] {
  const names = lines.map(({ name = '' }) => name);
  const draw = nameLabels(80, names);
  const rows = names.map((name, rank) => (y: number) => numberOf(8, y, rank) + draw(34, y, name));
  if (more > 0) rows.push((y) => label(34, y, `and ${more} more, in grey`));
  return rows.map((row, at) => row(16 + at * legendRow));
}
