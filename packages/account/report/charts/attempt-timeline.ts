import { counted } from '@updraft/base';
import { countJob, type Counted } from '../account.ts';
import { columnParts, columns } from '../columns.ts';
import type { JobHistory } from '../../history/history.ts';
import { formatMillis } from '@updraft/view/format';
import { historyLabel } from '../job-names.ts';
import {
  chartLegend,
  element,
  escapeMarkup,
  horizontalAxis,
  nameRoom,
  picture,
  scaleTo,
  timeUnit,
} from '@updraft/view/charts';

const width = 720;
const rowHeight = 20;

/** A row per job from its first event, a bar per attempt, coloured by column; thin bars are waits. */
export function attemptTimeline(jobs: readonly JobHistory[]): string {
  const rows = jobs.map((job) => {
    const { attempts, after } = countJob(job);
    return { job, counted: [...attempts.flat(), ...after] };
  });
  const used = columns.filter((column) =>
    rows.some(({ counted }) => counted.some((part) => part.column === column)),
  );
  const key = chartLegend(
    used.map((column) => columnParts[column]),
    4,
    width - 8,
  );
  const { left, draw } = nameRoom(jobs.map(historyLabel));
  const edges = { left, right: 700, top: key.height + 12, bottom: key.height + 12 + rows.length * rowHeight };
  const max = Math.max(...jobs.map(({ from, to }) => (to - from) / 1000));
  const scale = scaleTo(max, edges.right - edges.left, timeUnit(max));
  const drawn = rows.map(({ job, counted }, row) => {
    const y = edges.top + row * rowHeight;
    const bar = ({ column, from, to }: Counted) => {
      const wait = column === 'queued' || column === 'idle' || column === 'held';
      const x = edges.left + scale.place(from / 1000);
      const rect = {
        x,
        y: y + (wait ? 8 : 3),
        width: Math.max(0.3, scale.place((to - from) / 1000)),
        height: wait ? 4 : 14,
      };
      const title = `${historyLabel(job)}: ${formatMillis(to - from)} ${columnParts[column].label}`;
      return element(
        'rect',
        { ...rect, fill: columnParts[column].colour },
        element('title', {}, escapeMarkup(title)),
      );
    };
    return (
      draw(y + 14, historyLabel(job)) +
      counted.map(bar).join('') +
      starts(job, y, (time) => edges.left + scale.place(time / 1000))
    );
  });
  const description = jobs
    .map((job) => `${historyLabel(job)}: ${counted(job.attempts.length, 'attempt')}, ${job.outcome}`)
    .join('; ');
  return picture(
    { id: 'timeline', title: 'Attempts over time', description, width, height: edges.bottom + 44 },
    key.markup,
    horizontalAxis(scale, edges, 'since the job was submitted'),
    ...drawn,
  );
}

/** A tick at each start, because consecutive attempts would look like one. */
function starts({ attempts }: JobHistory, y: number, place: (time: number) => number): string {
  const d = attempts
    .flatMap(({ spans }) => spans[0] ?? [])
    .map(({ from }) => `M${place(from).toFixed(1)} ${y + 2}v16`)
    .join('');
  return d === '' ? '' : element('path', { d, stroke: 'currentColor', 'stroke-width': 0.8 });
}
