import { formatMillis } from '../format.ts';
import { horizontalAxis, scaleTo, timeUnit } from './axis.ts';
import { chartLegend, type ChartPart } from './palette.ts';
import { element, escapeMarkup, nameRoom, picture } from './svg.ts';

const width = 720;
const rowHeight = 20;

interface Lengths {
  id: string;
  title: string;
  axis: string;
}

/** A bar per name, stacked of the seconds of its parts. */
export function stackedBars<P extends string>(
  bars: readonly { name: string; seconds: Partial<Record<P, number>> }[],
  parts: Readonly<Record<P, ChartPart>>,
  { id, title, axis }: Lengths,
): string {
  const of = ({ seconds }: (typeof bars)[number], part: P): number => seconds[part] ?? 0;
  const used = (Object.keys(parts) as P[]).filter((part) => bars.some((bar) => of(bar, part) > 0));
  const wordsOf = (bar: (typeof bars)[number], part: P): string =>
    `${formatMillis(of(bar, part) * 1000)} ${parts[part].label}`;
  const key = chartLegend(
    used.map((part) => parts[part]),
    4,
    width - 8,
  );
  const { left, draw } = nameRoom(bars.map(({ name }) => name));
  const edges = { left, right: 700, top: key.height + 12, bottom: key.height + 12 + bars.length * rowHeight };
  const sums = bars.map((bar) => used.reduce((sum, part) => sum + of(bar, part), 0));
  const max = Math.max(...sums);
  const scale = scaleTo(max, edges.right - edges.left, timeUnit(max));
  const rows = bars.map((bar, row) => {
    let at = edges.left;
    const y = edges.top + row * rowHeight + 3;
    const drawPart = (part: P) => {
      const length = scale.place(of(bar, part));
      const rect = { x: at, y, width: length, height: rowHeight - 6, fill: parts[part].colour };
      at += length;
      const words = `${bar.name}: ${wordsOf(bar, part)}`;
      return length === 0 ? '' : element('rect', rect, element('title', {}, escapeMarkup(words)));
    };
    return draw(y + 12, bar.name) + used.map(drawPart).join('');
  });
  const wholes = bars.map(({ name }, row) => `${name}: ${formatMillis((sums[row] ?? 0) * 1000)}`);
  const [only, ...more] = bars;
  const all = only === undefined || more.length > 0 ? [] : used.map((part) => wordsOf(only, part));
  const described = [...wholes, ...all].join('; ');
  return picture(
    { id, title, description: described, width, height: edges.bottom + 44 },
    key.markup,
    horizontalAxis(scale, edges, axis),
    ...rows,
  );
}
