import type { JobState, RunState } from '../journal/state.ts';
import { columns, ledger, type LedgerRow } from '../report/ledger.ts';
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

function toneOf({ status, outcome, held }: JobState): Tone {
  if (held !== undefined) return 'warn';
  if (status === 'running') return 'busy';
  if (status === 'waiting') return 'idle';
  if (outcome === 'success') return 'good';
  return outcome === 'stopped' ? 'idle' : 'bad';
}

export const clip = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1)}…`;

/** The ledger's rows of one job. */
export function ledgerRowsOf(job: JobState): LedgerRow[] {
  const alone: Pick<RunState, 'jobs'> = { jobs: [job] };
  return ledger(alone as RunState).rows;
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
export const phases = columns.filter((column) => column !== 'queued');

export const partsOf = ({ millis }: LedgerRow): AttemptBar['parts'] =>
  phases.filter((phase) => millis[phase] > 0).map((phase) => [phase, millis[phase]]);
