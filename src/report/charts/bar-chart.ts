import { columns, columnLabels, type Amounts, type Column } from '../columns.ts';
import { formatMillis } from '../format.ts';
import { horizontalAxis, scaleTo, timeUnit, type Unit } from './axis.ts';
import { badColour, chartLegend, palette } from './palette.ts';
import { element, escapeMarkup, label, nameLabels, nameRoom, picture } from './svg.ts';

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

const jobsUnit: Unit = { name: 'jobs', size: 1 };

export function countBars(
  bars: readonly { name: string; count: number; share: number }[],
  { id, title, axis }: Lengths,
): string {
  const edges = { left: 280, right: 640, top: 8, bottom: 8 + bars.length * 26 };
  const scale = scaleTo(Math.max(...bars.map(({ count }) => count)), edges.right - edges.left, jobsUnit);
  const names = bars.map(({ name }) => name);
  const { draw } = nameLabels(44, names);
  const rows = bars.map(({ name, count, share }, row) => {
    const y = edges.top + row * 26 + 4;
    const length = scale.place(count);
    return (
      draw(edges.left - 8, y + 13, name, { 'text-anchor': 'end' }) +
      element('rect', { x: edges.left, y, width: length, height: 18, fill: badColour }) +
      label(edges.left + length + 6, y + 13, `${count} (${(share * 100).toFixed(1)} %)`)
    );
  });
  const described = bars.map(({ name, count }) => `${name}: ${count}`).join('; ');
  return picture(
    { id, title, description: described, width, height: edges.bottom + 44 },
    horizontalAxis(scale, edges, axis),
    ...rows,
  );
}
