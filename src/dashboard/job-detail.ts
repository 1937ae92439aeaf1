import path from 'node:path';
import { printable } from '../base/printable.ts';
import { kinds } from '../fault/kinds.ts';
import { attemptFiles, attemptFolder } from '../job/layout.ts';
import type { AgentEntry } from '../journal/entry.ts';
import { readJournal } from '../journal/tail.ts';
import { resumeWords } from '../journal/resume-words.ts';
import type { AttemptState, JobState } from '../journal/state.ts';
import { showMillis } from '../report/show-millis.ts';
import { checkpointSentences } from '../why/checkpoint-sentences.ts';
import { clip, ledgerRowsOf, partsOf } from './job-row.ts';
import type { CurvePoint, JobDetail } from './page-data.ts';
import { faultOf } from './problems.ts';
import { actionOn, canRetry, type RunSource } from './run-source.ts';
import { causeOf, whatIs } from './waste.ts';

/** A curve with more points than this looks the same. */
const mostPoints = 400;
const longestText = 12_000;

/** All there is to tell of one job; the loss comes from its agents' journals. */
export async function jobDetail(
  source: RunSource,
  job: JobState,
  now: number,
  points = mostPoints,
): Promise<JobDetail> {
  const rows = ledgerRowsOf(job);
  const { argument } = source;
  return {
    id: job.id,
    explanation: explainJob(job, now).map((sentence) => clip(printable(sentence), longestText)),
    attempts: job.attempts.map((attempt, index) => {
      const row = rows[index];
      const fault = faultOf(attempt);
      return {
        attempt: attempt.attempt,
        outcome: attempt.outcome ?? 'running',
        why: clip(printable(attempt.why), 400),
        where: clip(printable([row?.site, row?.host].filter((part) => part !== '').join(', ')), 200),
        fault: clip(printable(fault?.message ?? ''), longestText),
        fix: clip(printable(fault?.fix ?? ''), longestText),
        notes: notesOn(attempt).map((note) => clip(printable(note), 600)),
        parts: row === undefined ? [] : partsOf(row),
      };
    }),
    curve: await lossCurve(source.folder, job.attempts, points),
    commands: [
      { what: 'what it printed', command: `updraft logs ${argument} ${job.id}` },
      { what: 'its errors', command: `updraft logs ${argument} ${job.id} --err` },
      ...(canRetry(job) ? [{ what: 'why it failed', command: `updraft why ${argument} ${job.id}` }] : []),
    ],
    stop: job.status === 'ended' || job.stopRequested ? null : actionOn(source, 'stop', [job.id]),
    retry: canRetry(job) ? actionOn(source, 'retry', [job.id]) : null,
  };
}

/** What an attempt's checkpoints and its machine's self-test have to say. */
function notesOn(attempt: AttemptState): string[] {
  const lacks = attempt.agent?.lacks ?? [];
  return [
    ...lacks.map(({ name, said }) => `The machine failed the test "${name}": ${said}`),
    ...checkpointSentences(attempt),
  ];
}

/** The loss over all attempts, as one curve: an attempt that resumes goes on where its checkpoint was. */
async function lossCurve(
  folder: string,
  attempts: readonly AttemptState[],
  most: number,
): Promise<JobDetail['curve']> {
  const told: Progress[] = [];
  for (const { job, attempt } of attempts) {
    const file = path.join(attemptFolder(folder, job, attempt), attemptFiles.journal);
    const { entries } = await readJournal(file);
    told.push(...entries.filter((entry) => entry.kind === 'progress').filter(hasLoss));
  }
  const unit = told.some(({ epoch }) => epoch !== undefined)
    ? 'epochs'
    : told.some(({ step }) => step !== undefined)
      ? 'steps'
      : 'reports';
  const points = told.map((entry, index) => ({
    attempt: entry.attempt,
    x: short({ epochs: epochsOf(entry), steps: entry.step ?? 0, reports: index + 1 }[unit]),
    loss: short(entry.loss ?? 0),
  }));
  return { unit, points: thinned(points, most) };
}

/** More figures than a screen can show would only make the page longer. */
const short = (value: number): number => Number(value.toPrecision(6));

type Progress = Extract<AgentEntry, { kind: 'progress' }>;

const hasLoss = ({ loss }: Progress): boolean => loss !== undefined && Number.isFinite(loss);

/** Epochs that are done; the one that is named is under way until its steps are. */
function epochsOf({ epoch = 0, step, steps }: Progress): number {
  return step !== undefined && steps !== undefined && steps > 0 ? epoch - 1 + step / steps : epoch;
}

/** Every so-manieth point, and always the last. */
function thinned(points: CurvePoint[], most: number): CurvePoint[] {
  const every = Math.ceil(points.length / most);
  return points.filter((_, index) => index % every === 0 || index === points.length - 1);
}

/** What happened to a job and what happens next, in sentences. Pure. */
function explainJob(job: JobState, now: number): string[] {
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
