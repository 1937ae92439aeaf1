import { formatMillis } from '@updraft/view/format';
import type { AttemptBar, JobDetail, Tone } from '../page-data.ts';
import { barChart, element, picture } from '@updraft/view/charts';
import { fromMarkup, html } from '@updraft/view/dom';

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
  const drawn = bars.flatMap(({ from: begin, outcome, parts }) => {
    let x = (begin - from) * scale;
    const rects = parts.map(([phase, millis]) => {
      const width = millis * scale;
      const rect = element('rect', { x, y: 3, width: Math.max(width, 1.5), height: 14, 'data-phase': phase });
      x += width;
      return rect;
    });
    const isLost = outcome !== 'success' && outcome !== 'running';
    const end = { x: Math.max(0, x - 1), y: 0, width: 4, height: 20, class: 'ended' };
    return isLost ? [...rects, element('rect', end)] : rects;
  });
  const description = bars.length === 0 ? 'no attempt yet' : bars.map(describeBar).join('; ');
  const line = fromMarkup(picture({ description, width: 1000, height: 20 }, ...drawn));
  line.setAttribute('preserveAspectRatio', 'none');
  line.classList.add('timeline');
  return line;
}

/** What a job did over time; its style has the colours. */
export function lanesOf(lanes: JobDetail['lanes']) {
  const parts = lanes.flatMap(({ bars }) =>
    bars.map(({ part }) => [part, { label: part, colour: '' }] as const),
  );
  const plot = { width: 560, axis: 'since its first attempt' };
  return fromMarkup(barChart(lanes, Object.fromEntries(parts), plot));
}

export const describeParts = (parts: AttemptBar['parts']) =>
  parts.map(([phase, millis]) => `${phase} ${formatMillis(millis)}`).join(', ');

const describeBar = ({ attempt, outcome, parts }: AttemptBar) =>
  `attempt ${attempt} ${outcome}: ${describeParts(parts) || 'just started'}`;

/** Colour is never the only sign. */
const marks: Record<Tone, string> = { good: '✓', busy: '▶', idle: '○', warn: '‖', bad: '✗' };
export const symbolOf = (tone: Tone) => html('span', { class: 'mark', 'aria-hidden': 'true' }, marks[tone]);
