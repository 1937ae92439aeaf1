import type { JobDetail } from '../page-data.ts';
import { html, svg } from './dom.ts';

const [width, height, left, bottom, top] = [640, 220, 52, 28, 12];

/** The loss over all attempts as one curve; where one attempt hands over to the next there is a line. */
export function lossCurve({ unit, points }: JobDetail['curve']) {
  if (points.length === 0) return html('p', {}, 'The training has not told a loss yet.');
  const [fromX, toX] = range(points.map(({ x }) => x));
  const [low, high] = range(points.map(({ loss }) => loss));
  const x = (value: number) => left + ((value - fromX) / (toX - fromX)) * (width - left - 12);
  const y = (value: number) => top + ((high - value) / (high - low)) * (height - top - bottom);
  const last = points[points.length - 1];
  const label = `Loss from ${figure(points[0]?.loss)} to ${figure(last?.loss)} over ${figure(last?.x)} ${unit}`;
  const picture = svg('svg', {
    class: 'curve',
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': label,
  });
  for (const value of [low, (low + high) / 2, high])
    picture.append(
      svg('line', { class: 'grid', x1: `${left}`, x2: `${width - 12}`, y1: at(y(value)), y2: at(y(value)) }),
      svg('text', { x: `${left - 6}`, y: at(y(value) + 4), 'text-anchor': 'end' }, figure(value)),
    );
  for (const value of [fromX, toX])
    picture.append(
      svg(
        'text',
        { x: at(x(value)), y: `${height - 8}`, 'text-anchor': value === fromX ? 'start' : 'end' },
        value === toX ? `${figure(value)} ${unit}` : figure(value),
      ),
    );
  let before = 0;
  for (const [number, part] of Map.groupBy(points, ({ attempt }) => attempt)) {
    const path = part.map(({ x: step, loss }) => `${at(x(step))},${at(y(loss))}`).join(' ');
    const style = { 'data-turn': String(before % 3) };
    const start = part[0];
    if (before > 0 && start !== undefined)
      picture.append(
        svg('line', {
          class: 'handover',
          x1: at(x(start.x)),
          x2: at(x(start.x)),
          y1: `${top}`,
          y2: `${height - bottom}`,
        }),
        svg('text', { x: at(x(start.x) + 4), y: `${top + 10}` }, `attempt ${number}`),
      );
    picture.append(svg('polyline', { points: path, ...style }));
    if (start !== undefined && part.length === 1)
      picture.append(svg('circle', { cx: at(x(start.x)), cy: at(y(start.loss)), r: '3', ...style }));
    before += 1;
  }
  return picture;
}

function range(values: number[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

const figure = (value: number | undefined) =>
  value === undefined ? '' : String(Number(value.toPrecision(3)));

const at = (place: number) => place.toFixed(1);
