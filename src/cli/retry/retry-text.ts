import { printable } from '../../base/printable.ts';
import { jobList } from '../run-view/job-list.ts';
import { wrap } from '../why/wrap.ts';
import type { PlannedRetry, RetryPlan } from './plan-retry.ts';

/** What would be tried again, by cause: which jobs, what befell them, what must change. */
export function retryText({ retries, left }: RetryPlan, total: number, columns: number): string {
  const width = Math.max(40, Math.min(columns, 100));
  const groups = Map.groupBy(retries, ({ lack, explanation, what }) =>
    [lack, explanation.title, what].join('\n'),
  );
  const lines = [...groups.values()].flatMap((group) => groupLines(group, width));
  return [
    `${retries.length} of ${total} jobs to try again`,
    ...lines,
    ...left.map(({ job, why }) => `\n${job} is left alone: it ${why}`),
  ].join('\n');
}

function groupLines(group: readonly PlannedRetry[], width: number): string[] {
  const [first] = group;
  if (first === undefined) return [];
  const { lack, explanation, what, isMet } = first;
  const named = jobList(group.map(({ job }) => printable(job)));
  const said = lack === 'missing' ? [] : explanation.because.slice(0, 1);
  return [
    '',
    ...wrap(
      `${named} ${lack}: ${lack === 'missing' ? 'its results are gone' : explanation.title}`,
      width,
      '',
      '  ',
    ),
    ...said.flatMap((sentence) => wrap(printable(sentence), width, '  ', '    ')),
    ...wrap(`what must change: ${printable(what)}`, width, '  ', '    '),
    ...(isMet === false ? wrap('As it is, it will most likely end the same way.', width, '  ', '    ') : []),
  ];
}
