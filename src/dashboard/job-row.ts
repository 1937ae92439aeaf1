import { clip, defined, printable } from '@updraft/base';
import { startAndEnd } from '@updraft/view/tables';
import type { JobState } from '@updraft/account/journal';
import { activities, type AttemptHistory, type JobOutcome } from '@updraft/account/history';
import { describeState, jobFigures, jobNotes, placeOf } from '../run/describe-job.ts';
import type { AttemptBar, BoardRow, ParameterValue, Tone } from './page-data.ts';

/** Notes from logs may be of any length. */
const maxNoteChars = 300;

/** A job in one line, in the words of the command line. Pure. */
export function jobRow(job: JobState, now: number): BoardRow {
  return {
    id: job.id,
    parameters: shortParameters(job),
    ...defined({ name: job.name }),
    ...measurementsOf(job),
    state: describeState(job),
    tone: toneOf(job),
    where: clip(printable(placeOf(job)), 80),
    figures: clip(jobFigures(job).join(' · '), 80),
    note: clip(jobNotes(job, now).join(' · '), maxNoteChars),
    bars: attemptBars(job),
  };
}

/** A value may be a whole command; enough of it to distinguish jobs. */
function shortParameters({ parameters = {} }: JobState): BoardRow['parameters'] {
  const short = (value: ParameterValue) => (typeof value === 'string' ? startAndEnd(value, 60) : value);
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, short(value)]));
}

/** What can be sorted by; more digits than anyone reads would only make the page larger. */
export function measurementsOf(
  job: Pick<JobState, 'metrics' | 'best'>,
): Pick<BoardRow, 'metrics' | 'best' | 'diverged'> {
  const metrics = finite(job.metrics);
  const best = Object.entries(finite(job.best)).filter(([name, value]) => metrics[name] !== value);
  const odd = Object.entries(job.metrics).filter(([, value]) => !Number.isFinite(value));
  const diverged = Object.fromEntries(odd.map(([name, value]) => [name, String(value)]));
  return {
    metrics,
    ...(best.length > 0 && { best: Object.fromEntries(best) }),
    ...(odd.length > 0 && { diverged }),
  };
}

function finite(metrics: BoardRow['metrics']): BoardRow['metrics'] {
  const known = Object.entries(metrics).filter(([, value]) => Number.isFinite(value));
  return Object.fromEntries(known.map(([name, value]) => [name, Number(value.toPrecision(6))]));
}

const tones: Record<JobOutcome, Tone> = {
  waiting: 'idle',
  running: 'busy',
  success: 'good',
  held: 'warn',
  removed: 'idle',
  failed: 'bad',
  'wrong-output': 'bad',
};

const toneOf = ({ outcome, attempts }: JobState): Tone =>
  attempts.at(-1)?.pool?.disconnected === undefined ? tones[outcome] : 'warn';

/** The milliseconds of an attempt by phase, in their order. */
export function partsOf({ spans }: AttemptHistory): AttemptBar['parts'] {
  const millis = new Map<string, number>(slotPhases.map((phase) => [phase, 0]));
  for (const { doing, from, to } of spans) {
    const phase = activities[doing].drawn;
    millis.set(phase, (millis.get(phase) ?? 0) + to - from);
  }
  return [...millis].filter(([, spent]) => spent > 0);
}

function attemptBars(job: JobState): AttemptBar[] {
  return job.attempts.flatMap((attempt) => {
    const from = Date.parse(attempt.startedAt ?? attempt.agent?.startedAt ?? '');
    if (Number.isNaN(from)) return [];
    return [{ attempt: attempt.number, outcome: attempt.ending, from, parts: partsOf(attempt) }];
  });
}

/** The phases of an attempt on its slot, in their order. */
export const slotPhases = [...new Set(Object.values(activities).map(({ drawn }) => drawn))];
