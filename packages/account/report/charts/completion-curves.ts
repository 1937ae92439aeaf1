import type { GroupCurve } from '../compare/comparison.ts';
import { formatSeconds, formatShare } from '@updraft/view/format';
import {
  element,
  escapeMarkup,
  groupColours,
  horizontalAxis,
  label,
  nameLabels,
  picture,
  scaleTo,
  timeUnit,
  verticalAxis,
} from '@updraft/view/charts';

const width = 720;
const legendRow = 18;

/** A step curve per group: the share with a valid result over time. A tick is a job that had not ended. */
export function completionCurves(all: readonly GroupCurve[], axis: string): string {
  const curves = all.slice(0, groupColours.length * dashes.length);
  const more = all.length - curves.length;
  const names = curves.map(({ name }) => name);
  const { keys, draw } = nameLabels(80, names);
  const legend = keys === '' ? 0 : legendRow;
  const top = 34 + legend + (curves.length + (more > 0 ? 1 : 0)) * legendRow;
  const edges = { left: 48, right: 704, top, bottom: top + 230 };
  const times = curves.flatMap(({ points, censoredSeconds }) => [
    ...points.map(({ seconds }) => seconds),
    ...censoredSeconds,
  ]);
  const max = times.reduce((longest, time) => Math.max(longest, time), 0);
  const along = scaleTo(max, edges.right - edges.left, timeUnit(max));
  const up = scaleTo(1, edges.bottom - edges.top, { name: '%', size: 0.01 });
  const x = (seconds: number): number => Math.round((edges.left + along.place(seconds)) * 10) / 10;
  const y = (share: number): number => Math.round((edges.bottom - up.place(share)) * 10) / 10;
  const drawn = curves.map(({ name, points, censoredSeconds }, index) => {
    const colour = groupColours[index % groupColours.length] ?? '';
    const steps = points.map(({ seconds, share }) => `H${x(seconds)}V${y(share)}`).join('');
    const shareAt = (time: number) => points.findLast(({ seconds }) => seconds <= time)?.share ?? 0;
    const ticks = censoredSeconds.map((time) => `M${x(time)} ${y(shareAt(time)) - 5}v10`).join('');
    const line = { fill: 'none', stroke: colour, 'stroke-width': 2 };
    const dashed = {
      ...line,
      'stroke-dasharray': dashes[(index + Math.floor(index / groupColours.length)) % dashes.length],
    };
    const rowY = legend + 12 + index * legendRow;
    const last = points.at(-1);
    const reached = `${name}: ${formatShare(last?.share ?? 0)}`;
    return [
      element('line', { x1: 8, x2: 30, y1: rowY, y2: rowY, ...dashed }),
      draw(38, rowY + 4, name),
      element(
        'path',
        { d: `M${x(0)} ${y(0)}${steps}H${edges.right}`, ...dashed },
        element('title', {}, escapeMarkup(reached)),
      ),
      ticks === '' ? '' : element('path', { d: ticks, ...line }),
    ].join('');
  });
  return picture(
    {
      id: 'completion-curves',
      title: 'Valid results over time',
      description: curves.map(describeCurve).join('; '),
      width,
      height: edges.bottom + 44,
    },
    horizontalAxis(along, edges, axis),
    verticalAxis(up, edges, 'with a valid result'),
    ...(keys === '' ? [] : [label(38, 16, keys)]),
    ...drawn,
    more > 0 ? label(38, legend + 16 + curves.length * legendRow, `and ${more} more, not drawn`) : '',
  );
}

function describeCurve({ name, points }: GroupCurve): string {
  const half = points.find(({ share }) => share >= 0.5);
  const when = half === undefined ? '' : `, half after ${formatSeconds(half.seconds)}`;
  return `${name}: ${formatShare(points.at(-1)?.share ?? 0)}${when}`;
}

/** Curves differ in print without colours, too, and those of one colour differ in this. */
const dashes = [undefined, '7 3', '2 3', '9 3 2 3'];
