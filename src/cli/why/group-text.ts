import type { ExplainedGroup } from '../../recovery/group-explanations.ts';
import { wrap } from './wrap.ts';

const mostNamed = 8;

/** Groups of jobs, each with its cause and an example's account. */
export function groupText(groups: readonly ExplainedGroup[], columns: number): string {
  const width = Math.max(40, Math.min(columns, 100));
  return groups
    .map(({ standing, title, jobs, example }) =>
      [
        `${jobs.length} ${standing}: ${title}`,
        ...wrap(`jobs ${named(jobs)}`, width, '  ', '    '),
        ...(example.cause === 'none' ? [] : example.because.slice(0, 2)).flatMap((sentence) =>
          wrap(`${example.job}: ${sentence}`, width, '  ', '    '),
        ),
      ].join('\n'),
    )
    .join('\n\n');
}

function named(jobs: readonly string[]): string {
  const more = jobs.length - mostNamed;
  return `${jobs.slice(0, mostNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
