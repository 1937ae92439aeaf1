import { counted, given } from '@updraft/base';
import { slownessOf } from '../history/slowness.ts';
import { describeDamage, type RunState } from '../journal/state.ts';
import { noFacts } from '../history/log-facts.ts';
import type { Place } from '../recovery/places.ts';
import { formatShare } from '@updraft/view/format';
import { type Amounts, columns, inSeconds, slotColumns, sumOver } from './columns.ts';
import { hostOf } from './sites.ts';
import { type AttemptRow, type Ledger, ledgerOf } from './ledger.ts';
import { jobTable, type JobTableRow } from './job-table.ts';
import { logReport, type LogReport } from './log-report.ts';
import type { ReadLogs } from './read-logs.ts';

/**
 * Accounts for a run by its state, as `readLogs` does for logs. Its jobs come in the order of the job file, as tables
 * need them, and not in that of the queue, where values take turns.
 */
export function readRun(folder: string, state: RunState): ReadLogs {
  const jobs = state.jobs.toSorted(({ rank: a = 0 }, { rank: b = 0 }) => (a === b ? 0 : a - b));
  const facts = {
    ...noFacts,
    zone: 'UTC',
    offsetMinutes: 0,
    firstTime: jobs.reduce<number | undefined>((first, { from }) => Math.min(first ?? from, from), undefined),
    lastTime: jobs.reduce<number | undefined>((last, { to }) => Math.max(last ?? to, to), undefined),
  };
  const ledger = ledgerOf(jobs, facts);
  return {
    jobs,
    ledger,
    report: logReport(jobs, ledger, { source: 'run', logs: [folder], notes: notesOn(state) }),
  };
}

function notesOn(state: RunState): string[] {
  const { trouble } = state;
  const damage = describeDamage(state);
  return given(trouble !== undefined && `${trouble.message} ${trouble.fix}`, damage, ...slowNotes(state));
}

/** What slow attempts lacked: a sentence for each lack, with the figures of the last of them. */
function slowNotes({ jobs }: RunState): string[] {
  const slow = jobs.flatMap(({ id, attempts }) =>
    attempts.flatMap((attempt) => {
      const found = slownessOf(attempt);
      return found === undefined ? [] : [{ id, attempt, ...found }];
    }),
  );
  return [...Map.groupBy(slow, ({ what }) => what).values()].flatMap((same) =>
    same.slice(-1).map(({ id, attempt, figures, advice }) => {
      const { number, site, machine } = attempt;
      const which = `${counted(same.length, 'slow attempt')}, such as ${number} of ${id} at ${site || machine}`;
      return `${which}: ${figures}. ${advice}`;
    }),
  );
}

/** What `report --json` prints for a run: the keys of any report, and more. */
export interface RunReport extends LogReport {
  run: string;
  name: string;
  pool: string;
  createdAt: string | null;
  endedAt: string | null;
  attemptRows: RunAttempt[];
  jobRows: JobTableRow[];
  /** Unreadable lines of the journals. */
  garbledLines: number;
}

/** A row of the ledger, in seconds. */
export interface RunAttempt extends Pick<
  AttemptRow,
  'attempt' | 'ending' | 'machine' | 'site' | 'gpu' | 'speed'
> {
  job: string;
  seconds: Amounts;
  totalSeconds: number;
}

const attemptRows = ({ rows }: Ledger): RunAttempt[] =>
  rows.flatMap(({ job, attempts }) =>
    attempts.map(({ attempt, ending, machine, site, gpu, speed = {}, millis }) => ({
      job,
      attempt,
      ending,
      machine,
      site,
      gpu,
      speed,
      seconds: inSeconds(millis),
      totalSeconds: sumOver(millis, columns) / 1000,
    })),
  );

/** What the ranking of slots brought: how much of the slot time was at places above the mean, and how useful it was. */
function rankNotes(attempts: readonly RunAttempt[], places: readonly Place[]): string[] {
  const worthOf = ({ site, machine, gpu }: RunAttempt): number => {
    const alike = places.filter((one) => one.gpu === gpu || one.gpu === '');
    const here = alike.find((one) => one.site !== '' && one.site === (site || hostOf(machine)));
    return (here ?? alike.find((one) => one.site === ''))?.worth ?? 1;
  };
  const timeOf = (isAbove: boolean): { slot: number; useful: number } => {
    const there = attempts.filter((one) => worthOf(one) > 1 === isAbove);
    return {
      slot: there.reduce((sum, { seconds }) => sum + sumOver(seconds, slotColumns), 0),
      useful: there.reduce((sum, { seconds }) => sum + seconds.usefulCompute, 0),
    };
  };
  const [above, rest] = [timeOf(true), timeOf(false)];
  if (above.slot === 0 || rest.slot === 0) return [];
  const share = formatShare(above.slot / (above.slot + rest.slot));
  return [
    `Slots were ranked by earlier attempts: ${share} of the slot time was at places above their mean, ` +
      `${formatShare(above.useful / above.slot)} of it useful; elsewhere ${formatShare(rest.useful / rest.slot)}.`,
  ];
}

/** `places`: by which its slots were ranked. */
export function runReport(folder: string, state: RunState, places: readonly Place[] = []): RunReport {
  const { run, name, pool, createdAt = null, endedAt = null, garbled } = state;
  const { report, ledger, jobs } = readRun(folder, state);
  const attempts = attemptRows(ledger);
  return {
    ...report,
    notes: [...report.notes, ...rankNotes(attempts, places)],
    run,
    name,
    pool,
    createdAt,
    endedAt,
    attemptRows: attempts,
    jobRows: jobTable(jobs, ledger.rows),
    garbledLines: garbled,
  };
}
