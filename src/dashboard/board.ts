import type { RunState } from '../journal/state.ts';
import { showMillis } from '../report/show-millis.ts';
import type { Board, Problem, Tone } from './page-data.ts';
import { cachesOf, sitesOf } from './places.ts';
import { doingOf, problemsOf } from './problems.ts';
import { wasteOf } from './waste.ts';

export type Standing = Pick<Board, 'place' | 'trouble' | 'stop' | 'retry'>;

/** The run in figures, the four questions first. Pure. */
export function boardOf(state: RunState, standing: Standing, now: number): Board {
  const wrong = problemsOf(state, now);
  return {
    run: state.run,
    name: state.name,
    pool: state.pool,
    createdAt: millisOf(state.createdAt),
    endedAt: millisOf(state.endedAt),
    at: now,
    jobs: state.tally.total,
    counts: countsOf(state),
    verdict: verdictOf(state, wrong, now),
    wrong,
    doing: doingOf(state),
    waste: wasteOf(state),
    sites: sitesOf(state),
    caches: cachesOf(state),
    garbled: state.garbled,
    account: state.trouble ?? null,
    ...standing,
  };
}

function millisOf(time: string | undefined): number | null {
  const millis = Date.parse(time ?? '');
  return Number.isNaN(millis) ? null : millis;
}

function countsOf({ tally, jobs }: RunState): Board['counts'] {
  const held = jobs.filter((job) => job.held !== undefined && job.status === 'waiting').length;
  const bad = tally['wrong-output'] + tally.failed + tally.evicted + tally.lost;
  const all: Board['counts'] = [
    { label: 'done', jobs: tally.success, tone: 'good' },
    { label: 'running', jobs: tally.running, tone: 'busy' },
    { label: 'waiting', jobs: Math.max(0, tally.waiting - held), tone: 'idle' },
    { label: 'held', jobs: held, tone: 'warn' },
    { label: 'without a result', jobs: bad, tone: 'bad' },
    { label: 'stopped', jobs: tally.stopped, tone: 'idle' },
  ];
  return all.filter(({ jobs: count }) => count > 0);
}

function verdictOf(state: RunState, wrong: Problem[], now: number): Board['verdict'] {
  const { total, success, stopped } = state.tally;
  const needing = wrong.filter(({ needsYou }) => needsYou).reduce((sum, { jobs }) => sum + jobs, 0);
  const handled = wrong.filter(({ needsYou }) => !needsYou).reduce((sum, { jobs }) => sum + jobs, 0);
  const detail = [
    `${success} of ${count(total)} ${success === 1 || total === 1 ? 'has' : 'have'} a valid result`,
    pace(state, now),
  ]
    .filter((part) => part !== '')
    .join('; ');
  const say = (tone: Tone, headline: string) => ({ tone, headline, detail });
  if (state.endedAt !== undefined) {
    if (success === total) return say('good', 'It went well: every job has a valid result.');
    if (success + stopped === total) return say('idle', `It was stopped: ${count(stopped)} ended early.`);
    return say(
      'bad',
      `It has ended, and ${count(needing)} ${needing === 1 ? 'has' : 'have'} no valid result.`,
    );
  }
  if (state.stopRequested) return say('idle', 'It is being stopped.');
  if (needing > total / 10) return say('bad', `No: ${count(needing)} of ${total} need you.`);
  if (needing > 0)
    return say('warn', `Mostly: ${count(needing)} of ${total} ${needing === 1 ? 'needs' : 'need'} you.`);
  if (handled > 0) return say('busy', `Yes: ${count(handled)} met trouble that is being dealt with.`);
  if (state.tally.running === 0)
    return say('idle', 'It waits: no job has started yet, or all are between attempts.');
  return say('good', 'Yes: nothing is wrong.');
}

const count = (jobs: number): string => `${jobs} job${jobs === 1 ? '' : 's'}`;

function pace(state: RunState, now: number): string {
  const from = millisOf(state.createdAt);
  if (from === null) return '';
  const to = millisOf(state.endedAt) ?? now;
  return `${state.endedAt === undefined ? 'going for' : 'took'} ${showMillis(Math.max(0, to - from))}`;
}
