import type { RunState } from '../../journal/state.ts';
import type { Explanation } from '../../recovery/explanation.ts';

/** A job that waits for its canaries. */
export function explainKeptBack({ jobs, endedAt, pool }: RunState, job: string): Explanation {
  const ahead = jobs.filter(({ isKeptBack }) => !isKeptBack);
  const bad = ahead.filter(({ outcome }) => outcome !== undefined && outcome !== 'success');
  const named = bad
    .map(({ id }) => id)
    .slice(0, 8)
    .join(', ');
  return {
    ...{ job, standing: 'waiting', cause: 'waits-for-slot' },
    title:
      bad.length > 0
        ? 'it is kept back: a job that went ahead failed'
        : 'it is kept back until those before it are done',
    because: [
      bad.length > 0
        ? `It was not queued, because ${named} of the ${ahead.length} jobs that went ahead ended without a valid result.`
        : `It is queued when all ${ahead.length} jobs that went ahead have a valid result.`,
    ],
    evidence: [],
    doing: [
      endedAt !== undefined
        ? 'Nothing: the run stopped at its canary.'
        : pool === 'local'
          ? 'The supervisor of the run goes on by itself.'
          : '`updraft run` goes on by itself while it watches; otherwise nobody does.',
    ],
    advice:
      bad.length > 0
        ? [
            `See why with \`updraft why\` and ${bad[0]?.id ?? ''}, then \`updraft retry\`: when that is good, this one follows.`,
          ]
        : ['`updraft submit` with the folder of the run goes on with it.'],
  };
}
