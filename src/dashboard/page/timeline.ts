import { showMillis } from '../../report/show-millis.ts';
import type { AttemptBar } from '../page-data.ts';
import { html, svg } from './dom.ts';

/** What the colours mean. */
export const legend = (phases: readonly string[]) =>
  html(
    'ul',
    { class: 'legend', 'aria-label': 'Colours of the phases' },
    ...phases.map((phase) =>
      html('li', {}, html('span', { class: 'swatch', 'data-phase': phase, 'aria-hidden': 'true' }), phase),
    ),
    html('li', {}, html('span', { class: 'swatch ended', 'aria-hidden': 'true' }), 'ended without a result'),
  );

/** The attempts of a job on the time of the run, a bar each. */
export function timeline(bars: AttemptBar[], { from, to }: { from: number; to: number }) {
  const scale = 1000 / Math.max(1, to - from);
  const label = bars.length === 0 ? 'no attempt yet' : bars.map(barWords).join('; ');
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

/** One attempt alone, as wide as there is room. */
export function phaseBar(parts: AttemptBar['parts']) {
  const all = parts.reduce((sum, [, millis]) => sum + millis, 0);
  const bar = { attempt: 0, outcome: 'running', from: 0, parts };
  return timeline([bar], { from: 0, to: all });
}

export const partWords = (parts: AttemptBar['parts']) =>
  parts.map(([phase, millis]) => `${phase} ${showMillis(millis)}`).join(', ');

const barWords = ({ attempt, outcome, parts }: AttemptBar) =>
  `attempt ${attempt} ${outcome}: ${partWords(parts) || 'just begun'}`;

const rect = (x: number, y: number, width: number, height: number, attributes: Record<string, string>) =>
  svg('rect', {
    x: x.toFixed(1),
    y: String(y),
    width: width.toFixed(1),
    height: String(height),
    ...attributes,
  });
