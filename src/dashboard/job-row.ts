import type { JobState, RunState } from '../journal/state.ts';
import type { AttemptHistory, Doing } from '../history/history.ts';
import { runJobs } from '../history/run-jobs.ts';
import type { AttemptBar, JobRow, Tone } from './page-data.ts';

/** How a job is told in a line, in the words of the command line. */
export interface JobWords {
  word: string;
  where: string;
  figures: string[];
  notes: string[];
}
export type TellJob = (job: JobState, now: number) => JobWords;

/** Notes come from logs, which may be of any length. */
const longestNote = 300;

/** One job as a line of the table. Pure. */
export function jobRow(job: JobState, tell: TellJob, now: number): JobRow {
  const { word, where, figures, notes } = tell(job, now);
  return {
    id: job.id,
    state: word,
    tone: toneOf(job),
    where: clip(where, 80),
    figures: clip(figures.join(' · '), 80),
    note: clip(notes.join(' · '), longestNote),
    bars: attemptBars(job),
  };
}

function toneOf({ status, outcome, held, attempts }: JobState): Tone {
  if (held !== undefined || attempts.at(-1)?.pool?.disconnected !== undefined) return 'warn';
  if (status === 'running') return 'busy';
  if (status === 'waiting') return 'idle';
  if (outcome === 'success') return 'good';
  return outcome === 'stopped' ? 'idle' : 'bad';
}

export const clip = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1)}…`;

/** One attempt by what was done on its slot, in milliseconds; its wait is in the total. */
export interface PhaseRow {
  outcome: string;
  host: string;
  site: string;
  millis: Partial<Record<Phase, number>>;
  total: number;
}

export function ledgerRowsOf(job: JobState): PhaseRow[] {
  const alone: Pick<RunState, 'jobs'> = { jobs: [job] };
  const [history] = runJobs(alone as RunState);
  return (history?.attempts ?? []).map((attempt, index) => ({
    outcome: job.attempts[index]?.outcome ?? 'running',
    host: attempt.machine,
    site: attempt.site,
    millis: phaseMillis(attempt),
    total: [...attempt.waits, ...attempt.spans].reduce((sum, { from, to }) => sum + to - from, 0),
  }));
}

function phaseMillis({ spans, ending }: AttemptHistory): PhaseRow['millis'] {
  const returned = ending === 'success' ? spans.findLastIndex(({ doing }) => doing === 'output') : -1;
  const millis: PhaseRow['millis'] = {};
  for (const [index, { doing, from, to }] of spans.entries()) {
    const phase = isSetUp(spans, index) ? 'preparing' : index === returned ? 'returning' : phaseOf[doing];
    millis[phase] = (millis[phase] ?? 0) + to - from;
  }
  return millis;
}

/** What comes before all else: at the end of the bar it would move the rest to too early a time. */
function isSetUp(spans: AttemptHistory['spans'], index: number): boolean {
  const doing = spans[index]?.doing;
  return index === 0
    ? doing === 'queue' || doing === 'starting'
    : index === 1 && doing === 'starting' && spans[0]?.doing === 'queue';
}

function attemptBars(job: JobState): AttemptBar[] {
  const rows = ledgerRowsOf(job);
  return job.attempts.flatMap(({ attempt, startedAt, agent }, index) => {
    const from = Date.parse(startedAt ?? agent?.startedAt ?? '');
    const row = rows[index];
    if (row === undefined || Number.isNaN(from)) return [];
    return [{ attempt, outcome: row.outcome, from, parts: partsOf(row) }];
  });
}

/** The phases of an attempt on its slot, in the order in which they come. */
export const slotPhases = [
  'preparing',
  'fetching',
  'stalled',
  'unpacking',
  'training',
  'saving',
  'returning',
  'overhead',
  'unknown',
] as const;
type Phase = (typeof slotPhases)[number];

const phaseOf: Record<Doing, Phase> = {
  queue: 'overhead',
  starting: 'overhead',
  suspended: 'overhead',
  input: 'fetching',
  stalled: 'stalled',
  unpacking: 'unpacking',
  starved: 'fetching',
  executing: 'training',
  output: 'saving',
  'cut-off': 'unknown',
  silent: 'unknown',
};

export const partsOf = ({ millis }: PhaseRow): AttemptBar['parts'] =>
  slotPhases.flatMap((phase): AttemptBar['parts'] => {
    const spent = millis[phase] ?? 0;
    return spent > 0 ? [[phase, spent]] : [];
  });
