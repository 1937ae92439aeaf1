import { clip, defined } from '@updraft/base';
import { startAndEnd } from '@updraft/base/tables';
import { jobMetrics } from '../journal/training-curve.ts';
import type { JobState } from '../journal/state.ts';
import type { AttemptHistory, Activity } from '../history/history.ts';
import { runJob } from '../history/run-jobs.ts';
import type { AttemptBar, BoardRow, ParameterValue, Tone } from './page-data.ts';

/** A job in one line, in the words of the command line. */
export interface JobDescription {
  word: string;
  where: string;
  figures: string[];
  notes: string[];
}
export type DescribeJob = (job: JobState, now: number) => JobDescription;

/** Notes from logs may be of any length. */
const maxNoteChars = 300;

/** Pure. */
export function jobRow(job: JobState, describe: DescribeJob, now: number): BoardRow {
  const { word, where, figures, notes } = describe(job, now);
  return {
    id: job.id,
    parameters: shortParameters(job),
    ...defined({ name: job.name }),
    ...measurementsOf(job),
    state: word,
    tone: toneOf(job),
    where: clip(where, 80),
    figures: clip(figures.join(' · '), 80),
    note: clip(notes.join(' · '), maxNoteChars),
    bars: attemptBars(job),
  };
}

/** A value may be a whole command; enough of it to distinguish jobs. */
function shortParameters({ parameters = {} }: JobState): BoardRow['parameters'] {
  const short = (value: ParameterValue) => (typeof value === 'string' ? startAndEnd(value, 60) : value);
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, short(value)]));
}

/** What can be sorted by; more digits than anyone reads would only make the page larger. */
export function measurementsOf(job: JobState): Pick<BoardRow, 'metrics' | 'best' | 'diverged'> {
  const all = jobMetrics(job);
  const metrics = finite(all.metrics);
  const best = Object.entries(finite(all.best)).filter(([name, value]) => metrics[name] !== value);
  const odd = Object.entries(all.metrics).filter(([, value]) => !Number.isFinite(value));
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

function toneOf({ status, outcome, held, attempts }: JobState): Tone {
  if (held !== undefined || attempts.at(-1)?.pool?.disconnected !== undefined) return 'warn';
  if (status === 'running') return 'busy';
  if (status === 'waiting') return 'idle';
  if (outcome === 'success') return 'good';
  return outcome === 'stopped' ? 'idle' : 'bad';
}

/** Where each attempt of a job ran, how it ended, and its milliseconds by phase. */
export const phaseRowsOf = (job: JobState) =>
  runJob(job).attempts.map((attempt, index) => ({
    outcome: job.attempts[index]?.outcome ?? 'running',
    host: attempt.machine,
    site: attempt.site,
    parts: partsOf(attempt),
  }));

function partsOf({ spans, ending }: AttemptHistory): AttemptBar['parts'] {
  const returned = ending === 'success' ? spans.findLastIndex(({ doing }) => doing === 'output') : -1;
  const millis: Partial<Record<Phase, number>> = {};
  for (const [index, { doing, from, to }] of spans.entries()) {
    const phase = isSetUp(spans, index) ? 'preparing' : index === returned ? 'returning' : phaseOf[doing];
    millis[phase] = (millis[phase] ?? 0) + to - from;
  }
  return slotPhases.flatMap((phase): AttemptBar['parts'] => {
    const spent = millis[phase] ?? 0;
    return spent > 0 ? [[phase, spent]] : [];
  });
}

/** Set-up comes first: at the end of the bar, as overhead, it would draw the rest too early. */
function isSetUp(spans: AttemptHistory['spans'], index: number): boolean {
  const doing = spans[index]?.doing;
  return index === 0
    ? doing === 'queue' || doing === 'starting'
    : index === 1 && doing === 'starting' && spans[0]?.doing === 'queue';
}

function attemptBars(job: JobState): AttemptBar[] {
  const rows = phaseRowsOf(job);
  return job.attempts.flatMap(({ attempt, startedAt, agent }, index) => {
    const from = Date.parse(startedAt ?? agent?.startedAt ?? '');
    const row = rows[index];
    if (row === undefined || Number.isNaN(from)) return [];
    return [{ attempt, outcome: row.outcome, from, parts: row.parts }];
  });
}

/** The phases of an attempt on its slot, in their order. */
export const slotPhases = [
  'preparing',
  'fetching',
  'stalled',
  'unpacking',
  'waiting for data',
  'training',
  'saving',
  'returning',
  'overhead',
  'unknown',
] as const;
type Phase = (typeof slotPhases)[number];

const phaseOf: Record<Activity, Phase> = {
  queue: 'overhead',
  starting: 'overhead',
  suspended: 'overhead',
  input: 'fetching',
  stalled: 'stalled',
  unpacking: 'unpacking',
  starved: 'waiting for data',
  executing: 'training',
  output: 'saving',
  'cut-off': 'unknown',
  silent: 'unknown',
};
