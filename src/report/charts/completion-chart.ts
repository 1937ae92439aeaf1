import { counted } from '@updraft/base';
import { formatMillis } from '../format.ts';
import { scaleTo, timeUnit, verticalAxis } from './axis.ts';
import { badColour, markColour } from './palette.ts';
import { dots, element, label, picture } from './svg.ts';

export interface Completion {
  job: string;
  seconds: number;
}

const [width, height] = [720, 300];
const edges = { left: 48, right: 704, top: 34, bottom: 266 };

/** A dot per successful job: from its first match to its end. */
export function completionChart(jobs: readonly Completion[], medianSeconds: number): string {
  const max = jobs.reduce((longest, { seconds }) => Math.max(longest, seconds), 0);
  const scale = scaleTo(max, edges.bottom - edges.top, timeUnit(max));
  const step = (edges.right - edges.left) / Math.max(1, jobs.length);
  const places = jobs.map(({ seconds }, index) => ({
    x: edges.left + step * (index + 0.5),
    y: edges.bottom - scale.place(seconds),
  }));
  const name = (index: number) =>
    `${jobs[index]?.job ?? ''}: ${formatMillis((jobs[index]?.seconds ?? 0) * 1000)}`;
  const y = edges.bottom - scale.place(medianSeconds);
  const description = `${counted(jobs.length, 'job')}; median ${formatMillis(medianSeconds * 1000)}, longest ${formatMillis(max * 1000)}.`;
  return picture(
    { id: 'completion', title: 'Time from first match to completion, per job', description, width, height },
    verticalAxis(scale, edges, 'from first match to completion'),
    dots(places, markColour, name),
    element('line', {
      x1: edges.left,
      x2: edges.right,
      y1: y,
      y2: y,
      stroke: badColour,
      'stroke-dasharray': '6 4',
    }),
    label(edges.right, y - 5, 'median', { 'text-anchor': 'end' }),
    label((edges.left + edges.right) / 2, height - 8, 'jobs in the order of the log', {
      'text-anchor': 'middle',
    }),
  );
}
