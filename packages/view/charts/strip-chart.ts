import { horizontalAxis, scaleTo, type Unit } from './axis.ts';
import { badColour, markColour } from './palette.ts';
import { dots, element, escapeMarkup, label, nameRoom, picture } from './svg.ts';

export interface Strip {
  name: string;
  /** Each is a dot. */
  values: { name: string; value: number }[];
  mean: number;
  /** The first quartile, the median and the third quartile. */
  quartiles: readonly [number, number, number];
}

interface StripChart {
  id: string;
  title: string;
  axis: string;
  unit: (max: number) => Unit;
  /** Where the axis begins, if not at 0. */
  from?: number;
  /** How many rows there may be. */
  max?: number;
  show: (value: number) => string;
}

const width = 720;
const rowHeight = 46;
const keyHeight = 18;

/** A row per name: every value a dot, the middle half as a box, the mean as a diamond and the median as a line. */
export function stripChart(all: readonly Strip[], chart: StripChart): string {
  const { id, title, axis, unit, show, from, max: maxStrips = 12 } = chart;
  const filled = all.filter(({ values }) => values.length > 0);
  const strips = filled.slice(0, maxStrips);
  const { left, keys, draw } = nameRoom(strips.map(({ name }) => name));
  const top = 24 + (keys === '' ? 0 : keyHeight);
  const edges = { left, right: 696, top, bottom: top + strips.length * rowHeight };
  const max = strips.reduce(
    (all, { values }) => values.reduce((top, { value }) => Math.max(top, value), all),
    0,
  );
  const scale = scaleTo(max, edges.right - edges.left, unit(max), from);
  const x = (value: number) => edges.left + scale.place(value);
  const rows = strips.map(({ name, values, mean, quartiles }, row) => {
    const middle = edges.top + (row + 0.5) * rowHeight;
    const places = values.map(({ value }, index) => ({ x: x(value), y: middle + scatter(index) }));
    const titleOf = (index: number) => `${values[index]?.name ?? ''}: ${show(values[index]?.value ?? 0)}`;
    return (
      draw(middle + 4, name) +
      (values.length < minBoxed ? '' : box(quartiles, x, middle)) +
      dots(places, markColour, titleOf) +
      marks(x(mean), x(quartiles[1]), middle)
    );
  });
  const described = strips.map(
    ({ name, values, mean, quartiles }) =>
      `${name}: ${values.length}, mean ${show(mean)}, median ${show(quartiles[1])}`,
  );
  return picture(
    { id, title, description: described.join('; '), width, height: edges.bottom + 44 },
    horizontalAxis(scale, edges, axis),
    ...rows,
    keys === '' ? '' : label(8, 14 + keyHeight, keys),
    strips.length < filled.length ? label(8, 14, `the first ${maxStrips} of ${filled.length}`) : '',
    strips.some(({ values }) => values.length >= minBoxed)
      ? element('rect', { x: 428, y: 3, width: 14, height: 14, ...boxStyle }) + label(447, 14, 'middle half')
      : '',
    element('path', { d: diamond(536, 10), fill: badColour }) + label(546, 14, 'mean'),
    element('line', { x1: 600, x2: 600, y1: 3, y2: 17, stroke: 'currentColor', 'stroke-width': 2 }),
    label(606, 14, 'median'),
  );
}

/** From the first to the third quartile. */
function box(quartiles: Strip['quartiles'], x: (value: number) => number, middle: number): string {
  const [low, high] = [x(quartiles[0]), x(quartiles[2])];
  const size = { x: low, y: middle - 17, width: high - low, height: 34 };
  return element('rect', { ...size, ...boxStyle });
}

const boxStyle = { fill: markColour, 'fill-opacity': 0.15 };

/** Fewer values have no quartiles to speak of. */
const minBoxed = 4;

/** A deterministic jitter around the middle. */
const scatter = (index: number): number => ((index * 7) % 11) * 2.4 - 12;

function marks(meanAt: number, medianAt: number, middle: number): string {
  const line = { x1: medianAt, x2: medianAt, y1: middle - 17, y2: middle + 17 };
  return (
    element(
      'line',
      { ...line, stroke: 'currentColor', 'stroke-width': 2 },
      element('title', {}, escapeMarkup('median')),
    ) + element('path', { d: diamond(meanAt, middle), fill: badColour }, element('title', {}, 'mean'))
  );
}

const diamond = (x: number, y: number): string => `M${x.toFixed(1)} ${(y - 6).toFixed(1)}l6 6l-6 6l-6 -6z`;
