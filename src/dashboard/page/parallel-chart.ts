import { shortenDistinct, shortNames } from '@updraft/view/tables';
import { longestOf } from '@updraft/base';
import { axisOf, type ValueAxis } from '../axes.ts';
import { differingParameters } from '@updraft/account/parameters';
import type { BoardRow, ParameterValue } from '../page-data.ts';
import { type Measured, measuredBy } from '../row-order.ts';
import { drawing, svg } from '@updraft/view/dom';
import { type LineChart, lineLayer } from './line-layer.ts';

const [margin, bottom] = [34, 18];
/** Between the lines of names, and above the first axis; what a character takes. */
const [nameHeight, aboveAxes, charWidth] = [14, 20, 7];
/** Where names are longer than the gap between two axes, neighbours are on different lines. */
const maxNameLines = 3;
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
  measured: Measured,
  best: readonly string[],
  { width, height }: { width: number; height: number },
): LineChart | undefined {
  const columns = columnsOf(ranked, measured);
  if (columns.length < 2) return undefined;
  const gap = (width - 2 * margin) / (columns.length - 1);
  const { titles, lines: nameLines } = titlesOf(columns, gap);
  const top = aboveAxes + nameLines * nameHeight;
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
  const element = drawing(
    'chart',
    `Parameters of ${ranked.length} jobs and their ${measured.name}: ${columns.map(({ name }) => name).join(', ')}`,
    { width, height },
    ...columns.map((_, index) => {
      const x = placeX(index);
      return svg('line', { class: 'axis', x1: x, x2: x, y1: top - 8, y2: height - bottom + 8 });
    }),
    layer.element,
    ...columns.map((column, index) =>
      labelsOf(column, titles[index] ?? '', {
        x: placeX(index),
        end: index === 0 ? 'first' : index === columns.length - 1 ? 'last' : 'between',
        nameY: nameHeight * (1 + (index % nameLines)),
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
  nameY: number;
  width: number;
  /** Between two axes. */
  gap: number;
  placeY: (at: number) => number;
}

/** In front of the lines. Those of the last axis are to its left. */
function labelsOf({ name, axis }: Column, title: string, { x, end, nameY, width, gap, placeY }: LabelPlace) {
  const isLast = end === 'last';
  const anchor = { first: 'start', last: 'end', between: 'middle' }[end];
  const nameX = { first: 4, last: width - 4, between: x }[end];
  const room = Math.max(4, Math.floor(gap / 8));
  const labels = axis.ticks.map(({ label }) => label);
  const short = shortenDistinct(room, labels);
  const side = { x: isLast ? x - 6 : x + 6, 'text-anchor': isLast ? 'end' : 'start' };
  return svg(
    'g',
    {},
    svg('text', { class: 'name', x: nameX, y: nameY, 'text-anchor': anchor }, svg('title', {}, name), title),
    ...axis.ticks.map(({ at, label }) =>
      svg('text', { ...side, y: placeY(at) + 4 }, svg('title', {}, label), short(label)),
    ),
  );
}

/** The names of the axes, in as few lines as they need: short, and different. */
function titlesOf(columns: readonly Column[], gap: number): { titles: string[]; lines: number } {
  const names = columns.map(({ name }) => name);
  const short = shortNames(names);
  const needed = Math.ceil(((longestOf(short) + 1) * charWidth) / gap);
  const lines = Math.max(1, Math.min(maxNameLines, needed, columns.length));
  const room = Math.max(6, Math.floor((lines * gap) / charWidth) - 1);
  const titles = short.map(shortenDistinct(room, short)).map((title, at) => {
    const marked = `${title}${columns[at]?.axis.kind === 'log' ? ' (log)' : ''}`;
    return marked.length <= room ? marked : title;
  });
  return { titles, lines };
}

/** The parameters in which jobs differ, then the metric. */
function columnsOf(rows: readonly BoardRow[], measured: Measured): Column[] {
  const parameters = differingParameters(rows.map(({ parameters: cell }) => cell)).flatMap(
    (name): Column[] => {
      const valueOf = (row: BoardRow) => row.parameters[name];
      const values = rows.map(valueOf).filter((value) => value !== undefined);
      const distinct = new Set(values).size;
      if (distinct < 2) return [];
      const width = distinct <= 12 && rows.length > distinct ? spread : 0;
      return [{ name, axis: axisOf(values), valueOf, isFlipped: false, spread: width }];
    },
  );
  if (parameters.length === 0) return [];
  const valueOf = (row: BoardRow) => measuredBy(row, measured);
  const axis = axisOf(
    rows.map(valueOf).filter((value) => value !== undefined),
    true,
  );
  const { name, isLowerBetter: isFlipped } = measured;
  return [...parameters, { name, axis, valueOf, isFlipped, spread: 0 }];
}
