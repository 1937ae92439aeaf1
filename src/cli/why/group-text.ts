import type { ExplainedGroup } from '../../why/group-explanations.ts';
import { jobList } from '../run-view/job-list.ts';
import { wrap } from './wrap.ts';

/** Groups of jobs, each with its cause and an example's account. */
export function groupText(groups: readonly ExplainedGroup[], columns: number): string {
  const width = Math.max(40, Math.min(columns, 100));
  return groups
    .map(({ standing, title, jobs, example }) =>
      [
        `${jobs.length} ${standing}: ${title}`,
        ...wrap(`${jobs.length === 1 ? 'job' : 'jobs'} ${jobList(jobs)}`, width, '  ', '    '),
        ...(example.cause === 'none' ? [] : example.because.slice(0, 2)).flatMap((sentence) =>
          wrap(`${example.job}: ${sentence}`, width, '  ', '    '),
        ),
      ].join('\n'),
    )
    .join('\n\n');
}
