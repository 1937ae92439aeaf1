import { formatMillis } from '@updraft/view/format';
import { shortNumber } from '../axes.ts';
import type { AttemptBar, JobCurve, Tone } from '../page-data.ts';
import { plot, rangesOf } from './curve-chart.ts';
import { html, drawing, svg } from '@updraft/view/dom';

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
  const line = drawing('timeline', label, { width: 1000, height: 20 });
  line.setAttribute('preserveAspectRatio', 'none');
  for (const bar of bars) {
    let x = (bar.from - from) * scale;
    for (const [phase, millis] of bar.parts) {
      const width = millis * scale;
      line.append(rect(x, 3, Math.max(width, 1.5), 14, { 'data-phase': phase }));
      x += width;
    }
    const isLost = bar.outcome !== 'success' && bar.outcome !== 'running';
    if (isLost) line.append(rect(Math.max(0, x - 1), 0, 4, 20, { class: 'ended' }));
  }
  return line;
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
  svg('rect', { x: x.toFixed(1), y, width: width.toFixed(1), height, ...attributes });

const size = { width: 640, height: 220 };

/** A metric over all attempts as one curve, with a line where the next attempt starts. */
export function attemptCurve(curve: JobCurve | undefined) {
  if (curve === undefined) return html('p', {}, 'The training has not reported a metric yet.');
  const { metric, unit, points } = curve;
  const ranges = rangesOf([points.flatMap((point) => [point.x, point.y])]);
  const { placeX, placeY, axes } = plot(ranges.x, ranges.y, unit, size);
  const last = points[points.length - 1];
  const label = `${metric} from ${figure(points[0]?.y)} to ${figure(last?.y)} over ${figure(last?.x)} ${unit}`;
  const chart = drawing('curve', label, size, ...axes);
  let before = 0;
  for (const [number, part] of Map.groupBy(points, ({ attempt }) => attempt)) {
    const path = part.map(({ x, y }) => `${placeX(x).toFixed(1)},${placeY(y).toFixed(1)}`).join(' ');
    const style = { 'data-turn': before % 3 };
    const [x, y] = [placeX(part[0]?.x ?? 0), placeY(part[0]?.y ?? 0)];
    if (before > 0)
      chart.append(
        svg('line', { class: 'handover', x1: x, x2: x, y1: 14, y2: size.height - 34 }),
        svg('text', { x: x + 4, y: 24 }, `attempt ${number}`),
      );
    chart.append(svg('polyline', { points: path, ...style }));
    if (part.length === 1) chart.append(svg('circle', { cx: x, cy: y, r: 3, ...style }));
    before += 1;
  }
  return chart;
}

const figure = (value: number | undefined) =>
  value === undefined ? '' : shortNumber(Number(value.toPrecision(3)));

/** Colour is never the only sign. */
const marks: Record<Tone, string> = { good: '✓', busy: '▶', idle: '○', warn: '‖', bad: '✗' };
export const symbolOf = (tone: Tone) => html('span', { class: 'mark', 'aria-hidden': 'true' }, marks[tone]);
