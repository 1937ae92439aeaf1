import { formatMillis } from '../../report/format.ts';
import { shortNumber } from '../axes.ts';
import type { AttemptBar, JobCurve } from '../page-data.ts';
import { html, svg } from './dom.ts';

export const phaseLegend = (phases: readonly string[]) =>
  html(
    'ul',
    { class: 'legend', 'aria-label': 'Colours of the phases' },
    ...phases.map((phase) =>
      html('li', {}, html('span', { class: 'swatch', 'data-phase': phase, 'aria-hidden': 'true' }), phase),
    ),
    html('li', {}, html('span', { class: 'swatch ended', 'aria-hidden': 'true' }), 'ended without a result'),
  );

/** A bar per attempt of a job, on the time axis of the run. */
export function timeline(bars: AttemptBar[], { from, to }: { from: number; to: number }) {
  const scale = 1000 / Math.max(1, to - from);
  const label = bars.length === 0 ? 'no attempt yet' : bars.map(describeBar).join('; ');
  const picture = svg('svg', {
    class: 'timeline',
    viewBox: '0 0 1000 20',
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': label,
  });
  for (const bar of bars) {
    let x = (bar.from - from) * scale;
    for (const [phase, millis] of bar.parts) {
      const width = millis * scale;
      picture.append(rect(x, 3, Math.max(width, 1.5), 14, { 'data-phase': phase }));
      x += width;
    }
    const isLost = bar.outcome !== 'success' && bar.outcome !== 'running';
    if (isLost) picture.append(rect(Math.max(0, x - 1), 0, 4, 20, { class: 'ended' }));
  }
  return picture;
}

/** A single attempt over the full width. */
export function phaseBar(parts: AttemptBar['parts']) {
  const all = parts.reduce((sum, [, millis]) => sum + millis, 0);
  const bar = { attempt: 0, outcome: 'running', from: 0, parts };
  return timeline([bar], { from: 0, to: all });
}

export const describeParts = (parts: AttemptBar['parts']) =>
  parts.map(([phase, millis]) => `${phase} ${formatMillis(millis)}`).join(', ');

const describeBar = ({ attempt, outcome, parts }: AttemptBar) =>
  `attempt ${attempt} ${outcome}: ${describeParts(parts) || 'just started'}`;

const rect = (x: number, y: number, width: number, height: number, attributes: Record<string, string>) =>
  svg('rect', {
    x: x.toFixed(1),
    y: String(y),
    width: width.toFixed(1),
    height: String(height),
    ...attributes,
  });

const [width, height, left, bottom, top] = [640, 220, 52, 28, 12];

/** A metric over all attempts as one curve, with a line where the next attempt starts. */
export function attemptCurve(curve: JobCurve | undefined) {
  if (curve === undefined) return html('p', {}, 'The training has not reported a metric yet.');
  const { metric, unit, points } = curve;
  const [fromX, toX] = range(points.map(({ x }) => x));
  const [low, high] = range(points.map((point) => point.y));
  const x = (value: number) => left + ((value - fromX) / (toX - fromX)) * (width - left - 12);
  const y = (value: number) => top + ((high - value) / (high - low)) * (height - top - bottom);
  const last = points[points.length - 1];
  const label = `${metric} from ${figure(points[0]?.y)} to ${figure(last?.y)} over ${figure(last?.x)} ${unit}`;
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
    const path = part.map((point) => `${at(x(point.x))},${at(y(point.y))}`).join(' ');
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
      picture.append(svg('circle', { cx: at(x(start.x)), cy: at(y(start.y)), r: '3', ...style }));
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
  value === undefined ? '' : shortNumber(Number(value.toPrecision(3)));

const at = (place: number) => place.toFixed(1);
