import { kinds } from '../fault/kinds.ts';
import { resumeWords } from '../journal/resume-words.ts';
import type { AttemptState, JobState } from '../journal/state.ts';
import { showMillis } from '../report/show-millis.ts';
import { ledgerRowsOf } from './job-row.ts';
import { faultOf } from './problems.ts';
import { causeOf, whatIs } from './waste.ts';

/** What happened to a job and what happens next, in sentences. Pure. */
export function explainJob(job: JobState, now: number): string[] {
  const rows = ledgerRowsOf(job);
  const past = job.attempts
    .map((attempt, index) => attemptSentence(attempt, rows[index]?.total ?? 0))
    .filter((sentence) => sentence !== '');
  return [...past, ...presentSentences(job, now)];
}

function attemptSentence(attempt: AttemptState, total: number): string {
  const { outcome } = attempt;
  if (outcome === undefined) return '';
  const where = placeOf(attempt);
  const took = `Attempt ${attempt.attempt}${where === '' ? '' : ` at ${where}`} took ${showMillis(total)}`;
  if (outcome === 'success') return `${took} and gave a valid result.`;
  const cause = causeOf(attempt);
  const message = faultOf(attempt)?.message;
  return `${took} and ended as ${outcome}. ${whatIs(cause)}${message === undefined ? '' : ` It said: ${message.replace(/\.?$/, '.')}`}`;
}

const placeOf = ({ agent, pool }: AttemptState): string =>
  agent?.site ?? pool?.site ?? agent?.host ?? pool?.host ?? '';

function presentSentences(job: JobState, now: number): string[] {
  const last = job.attempts.at(-1);
  if (job.status === 'ended') return [endSentence(job, last)];
  const stop = job.stopRequested ? ['A stop was asked for.'] : [];
  if (job.held !== undefined)
    return [...stop, `The scheduler holds it back: ${job.held.message}`, ...fixOf(job.held.fix)];
  if (last === undefined) return [...stop, 'It waits for its first slot.'];
  if (job.status === 'waiting') return [...stop, 'It waits for another attempt.'];
  const since = Date.parse(last.startedAt ?? '');
  const long = Number.isNaN(since) ? '' : `, ${showMillis(Math.max(0, now - since))} since it began`;
  const why = last.why === '' ? '' : ` (${last.why})`;
  const resumed = last.agent?.resumed === undefined ? [] : [`It ${resumeWords(last.agent.resumed)}.`];
  return [...stop, `Attempt ${last.attempt} is ${last.phase}${long}${why}.`, ...resumed];
}

function endSentence(job: JobState, last: AttemptState | undefined): string {
  if (job.outcome === 'success') return 'Nothing is left to do.';
  if (job.outcome === 'stopped') return 'It was stopped and will not run again by itself.';
  const fault = faultOf(last);
  if (fault === undefined) return 'It will not be tried again by itself.';
  const help =
    kinds[fault.kind].retry === 'never'
      ? 'Another attempt would end the same way, so none is made.'
      : 'All the attempts it may have are used up.';
  return [help, ...fixOf(fault.fix)].join(' ');
}

const fixOf = (fix: string | undefined): string[] => (fix === undefined ? [] : [`What helps: ${fix}`]);
