import { shortenDistinct } from '../../base/shorten.ts';
import { clip } from '../../base/text-table.ts';
import { isLowerBetter } from '../../base/metric-direction.ts';
import { axisOf, type ValueAxis } from '../axes.ts';
import type { BoardRow, ParameterValue } from '../page-data.ts';
import { svg } from './dom.ts';
import { type LineChart, lineLayer } from './line-layer.ts';

const [margin, top, bottom] = [34, 34, 18];
/** Jobs with the same value of a parameter are beside each other, the best at the top. */
const spread = 16;

interface Column {
  name: string;
  axis: ValueAxis;
  valueOf: (row: BoardRow) => ParameterValue | undefined;
  /** The best is at the top. */
  isFlipped: boolean;
  spread: number;
}

/** Each job as a line through its parameters to what it measured; undefined where no parameter differs. */
export function parallelChart(
  ranked: readonly BoardRow[],
  metric: string,
  best: readonly string[],
  { width, height }: { width: number; height: number },
): LineChart | undefined {
  const columns = columnsOf(ranked, metric);
  if (columns.length < 2) return undefined;
  const gap = (width - 2 * margin) / (columns.length - 1);
  const placeX = (index: number) => margin + index * gap;
  const placeY = ({ isFlipped }: Column, at: number) =>
    top + (isFlipped ? at : 1 - at) * (height - top - bottom);
  const lines = new Map(
    ranked.map((row, rank) => {
      const aside = ranked.length < 2 ? 0 : rank / (ranked.length - 1) - 0.5;
      const places = columns.flatMap((column, index) => {
        const value = column.valueOf(row);
        if (value === undefined) return [];
        return [placeX(index), placeY(column, column.axis.place(value)) + aside * column.spread];
      });
      return [row.id, places] as const;
    }),
  );
  const layer = lineLayer(lines, best);
  const element = svg(
    'svg',
    {
      class: 'chart',
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-label': `Parameters of ${ranked.length} jobs and their ${metric}: ${columns.map(({ name }) => name).join(', ')}`,
    },
    ...columns.map((column, index) =>
      svg('line', {
        class: 'axis',
        x1: `${placeX(index)}`,
        x2: `${placeX(index)}`,
        y1: `${top - 8}`,
        y2: `${height - bottom + 8}`,
      }),
    ),
    layer.element,
    ...columns.map((column, index) =>
      labelsOf(column, {
        x: placeX(index),
        end: index === 0 ? 'first' : index === columns.length - 1 ? 'last' : 'between',
        width,
        gap,
        placeY: (at) => placeY(column, at),
      }),
    ),
  );
  return { element, nearest: layer.nearest, pick: layer.pick };
}

interface LabelPlace {
  x: number;
  end: 'first' | 'last' | 'between';
  width: number;
  /** Between two axes. */
  gap: number;
  placeY: (at: number) => number;
}

/** In front of the lines. Those of the last axis are to its left. */
function labelsOf({ name, axis }: Column, { x, end, width, gap, placeY }: LabelPlace) {
  const isLast = end === 'last';
  const anchor = { first: 'start', last: 'end', between: 'middle' }[end];
  const nameX = { first: 4, last: width - 4, between: x }[end];
  const room = Math.max(4, Math.floor(gap / 8));
  const labels = axis.ticks.map(({ label }) => label);
  const short = shortenDistinct(room, labels);
  const title = `${name}${axis.kind === 'log' ? ' (log)' : ''}`;
  const side = { x: `${isLast ? x - 6 : x + 6}`, 'text-anchor': isLast ? 'end' : 'start' };
  return svg(
    'g',
    {},
    svg(
      'text',
      { class: 'name', x: `${nameX}`, y: '14', 'text-anchor': anchor },
      svg('title', {}, title),
      clip(title, room + 2),
    ),
    ...axis.ticks.map(({ at, label }) =>
      svg('text', { ...side, y: `${placeY(at) + 4}` }, svg('title', {}, label), short(label)),
    ),
  );
}

/** The parameters in which jobs differ, then the metric. */
function columnsOf(rows: readonly BoardRow[], metric: string): Column[] {
  const names = new Set(rows.flatMap(({ parameters }) => Object.keys(parameters)));
  const parameters = [...names].flatMap((name): Column[] => {
    const valueOf = (row: BoardRow) => row.parameters[name];
    const values = rows.map(valueOf).filter((value) => value !== undefined);
    const distinct = new Set(values).size;
    if (distinct < 2) return [];
    const width = distinct <= 12 && rows.length > distinct ? spread : 0;
    return [{ name, axis: axisOf(values), valueOf, isFlipped: false, spread: width }];
  });
  if (parameters.length === 0) return [];
  const valueOf = (row: BoardRow) => row.metrics[metric];
  const axis = axisOf(rows.map(valueOf).filter((value) => value !== undefined));
  return [...parameters, { name: metric, axis, valueOf, isFlipped: isLowerBetter(metric), spread: 0 }];
}
