import { columns, columnLabels, type Amounts, type Column } from '../columns.ts';
import { formatMillis } from '../format.ts';
import { horizontalAxis, scaleTo, timeUnit } from './axis.ts';
import { chartLegend, palette } from './palette.ts';
import { element, escapeMarkup, nameRoom, picture } from './svg.ts';

const width = 720;
const rowHeight = 20;

interface Lengths {
  id: string;
  title: string;
  axis: string;
}

/** A bar per name, stacked by column. */
export function stackedBars(
  bars: readonly { name: string; seconds: Partial<Amounts> }[],
  { id, title, axis }: Lengths,
): string {
  const used = columns.filter((column) => bars.some(({ seconds }) => (seconds[column] ?? 0) > 0));
  const key = chartLegend(used, 4, width - 8);
  const { left, draw } = nameRoom(bars.map(({ name }) => name));
  const edges = { left, right: 700, top: key.height + 12, bottom: key.height + 12 + bars.length * rowHeight };
  const sums = bars.map(({ seconds }) => used.reduce((sum, column) => sum + (seconds[column] ?? 0), 0));
  const max = Math.max(...sums);
  const scale = scaleTo(max, edges.right - edges.left, timeUnit(max));
  const rows = bars.map(({ name, seconds }, row) => {
    let at = edges.left;
    const y = edges.top + row * rowHeight + 3;
    const part = (column: Column) => {
      const length = scale.place(seconds[column] ?? 0);
      const rect = { x: at, y, width: length, height: rowHeight - 6, fill: palette[column] };
      at += length;
      const words = `${name}: ${formatMillis((seconds[column] ?? 0) * 1000)} ${columnLabels[column]}`;
      return length === 0 ? '' : element('rect', rect, element('title', {}, escapeMarkup(words)));
    };
    return draw(y + 12, name) + used.map(part).join('');
  });
  const [only = {}] = bars.length === 1 ? bars.map(({ seconds }) => seconds) : [];
  const parts = used.map((column) => `${formatMillis((only[column] ?? 0) * 1000)} ${columnLabels[column]}`);
  const wholes = bars.map(({ name }, row) => `${name}: ${formatMillis((sums[row] ?? 0) * 1000)}`);
  const described = [...wholes, ...(bars.length === 1 ? parts : [])].join('; ');
  return picture(
    { id, title, description: described, width, height: edges.bottom + 44 },
    key.markup,
    horizontalAxis(scale, edges, axis),
    ...rows,
  );
}
