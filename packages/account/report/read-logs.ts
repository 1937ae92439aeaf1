import { counted } from '@updraft/base';
import { collectGarbageSoon } from '@updraft/base/processes';
import { type DagRun, nodeJobs, startedInner } from '@updraft/htcondor/dag';
import { type LogSource, unreadNotes } from '@updraft/htcondor/eventlog';
import { type Ledger, ledgerOf, sumOfRows } from './ledger.ts';
import { endAsDone, type JobHistory } from '../history/history.ts';
import { type HistoryOptions, readHistory } from '../history/read-history.ts';
import { logReport, type LogReport } from './log-report.ts';
import { noEventsFault } from './no-events.ts';
import { judgeJobs, type Validity } from './validity.ts';
import { noFacts } from '../history/log-facts.ts';

export interface ReadLogs {
  jobs: JobHistory[];
  ledger: Ledger;
  report: LogReport;
}

interface LogOptions extends Validity, Pick<HistoryOptions, 'signal' | 'evidence' | 'isPlaceEnough'> {
  /** The DAG whose nodes the jobs are. */
  dag?: DagRun | undefined;
  /** Who owns the file of a log, for jobs whose owner the log does not name. */
  fileOwners?: ReadonlyMap<string, string> | undefined;
}

/** Reads logs in any order, also of the same jobs; memory grows with the number of jobs, not with the logs. */
export async function readLogs(
  sources: readonly LogSource[],
  { signal, evidence, isPlaceEnough, dag, fileOwners, ...validity }: LogOptions = {},
): Promise<ReadLogs> {
  const logs = [...new Set(sources.map(({ name, partOf = name }) => partOf))];
  const history = await readHistory(sources, { signal, evidence, isPlaceEnough, ofDag: dag });
  const { jobs: read, facts, garbledBytes } = history;
  if (facts.events === 0 && garbledBytes > 0) throw noEventsFault(logs, history.garbledStart);
  if (fileOwners !== undefined) nameOwners(read, logs, fileOwners);
  const { jobs, suspects } = judgeJobs(dag === undefined ? read : onSlots(dag, read), validity);
  const ledger = ledgerOf(jobs, facts, new Set(suspects.map(({ job }) => job)));
  if (jobs.length > 10_000) collectGarbageSoon();
  // DAGMan may say so of jobs whose logs are not here.
  const isSubmitted = (dag?.clusters?.size ?? 0) > 0;
  const notes = [...unreadNotes(sources), ...notesOn(ledger, garbledBytes, isSubmitted)];
  return { jobs, ledger, report: logReport(jobs, ledger, { logs, notes, suspects, dag }) };
}

/** In place, since a log may have a million jobs. */
function nameOwners(
  jobs: readonly JobHistory[],
  [only = '']: string[],
  owners: ReadonlyMap<string, string>,
): void {
  for (const job of jobs) {
    const owner = job.owner === undefined ? owners.get(job.log ?? only) : undefined;
    if (owner !== undefined) Object.assign(job, { owner, isFileOwner: true });
  }
}

/** The jobs of a DAG's nodes; that of a SUBDAG node is DAGMan itself, and counts only if it started nothing. */
function onSlots(dag: DagRun, read: readonly JobHistory[]): JobHistory[] {
  const jobs = nodeJobs(dag, read, endAsDone);
  const started = startedInner(dag, jobs);
  return jobs.filter(({ node = '' }) => !started.has(node));
}

function notesOn({ facts, sum, slotMillis }: Ledger, garbledBytes: number, isSubmitted: boolean): string[] {
  const { events, cut, backwards, repeated, jobless, hasTransfers, guessedYear } = facts;
  const notes: [unless: boolean, text: string][] = [
    [events > 0 || isSubmitted, 'The log has no events: no job has been submitted yet.'],
    [garbledBytes === 0, `Ignored ${garbledBytes} bytes that are not events.`],
    [cut === 0, `${counted(cut, 'incomplete event')}: the log was truncated, or is being written.`],
    [
      backwards === 0,
      `${counted(backwards, 'event')} with a time before the previous event: counted at the time of that one.`,
    ],
    [jobless === 0, `Ignored ${counted(jobless, 'event')} of no job: their id is negative.`],
    [repeated === 0, `${counted(repeated, 'event')} in more than one log: counted once.`],
    [!guessedYear, "The log's dates have no year: Updraft guessed it."],
    [
      hasTransfers || slotMillis === 0,
      "The log has no transfer events (a DAG's .nodes.log has none): how long transfers took is " +
        'unknown, and the time before the job started counts as queued.',
    ],
    [
      sum.unknown === 0,
      '"unknown" is time in which a connection was lost, or for which no event shows how an attempt started or ended.',
    ],
    [
      sum.underWay === 0,
      '"not decided yet" is the time of jobs that are still on a slot, of checkpoints that no attempt ' +
        'has used yet, and of suspicious successes.',
    ],
  ];
  return notes.flatMap(([unless, text]) => (unless ? [] : [text]));
}

/** Runs and logs that were read one by one, as one; each job has the name of its own as `log`. */
export function mergeReads(parts: readonly { name: string; read: ReadLogs | undefined }[]): ReadLogs {
  const known = parts.flatMap(({ name, read }) => (read === undefined ? [] : [{ name, read }]));
  const jobs = known.flatMap(({ name, read }) => read.jobs.map((job) => ({ ...job, log: name })));
  const ledger = mergeLedgers(known);
  const reports = known.map(({ read }) => read.report);
  return {
    jobs,
    ledger,
    report: logReport(jobs, ledger, {
      logs: known.map(({ name }) => name),
      source: reports.every(({ source }) => source === 'run') ? 'run' : 'log',
      notes: [...new Set(reports.flatMap(({ notes }) => notes))],
      suspects: known.flatMap(({ name, read }) =>
        read.report.suspicious.map((suspect) => ({ ...suspect, log: name })),
      ),
    }),
  };
}

function mergeLedgers(parts: readonly { name: string; read: ReadLogs }[]): Ledger {
  const ledgers = parts.map(({ read }) => read.ledger);
  const facts = ledgers.map((ledger) => ledger.facts);
  const [first] = facts;
  const isOneZone = facts.every(({ zone }) => zone === first?.zone);
  const times = (values: readonly (number | undefined)[]) => values.filter((value) => value !== undefined);
  const [starts, ends] = [
    times(facts.map(({ firstTime }) => firstTime)),
    times(facts.map(({ lastTime }) => lastTime)),
  ];
  return sumOfRows(
    parts.flatMap(({ name, read }) => read.ledger.rows.map((row) => ({ ...row, log: name }))),
    {
      ...noFacts,
      events: facts.reduce((count, { events }) => count + events, 0),
      hasTransfers: facts.some(({ hasTransfers }) => hasTransfers),
      guessedYear: facts.some(({ guessedYear }) => guessedYear),
      firstTime: starts.length === 0 ? undefined : Math.min(...starts),
      lastTime: ends.length === 0 ? undefined : Math.max(...ends),
      zone: isOneZone ? first?.zone : undefined,
      offsetMinutes: isOneZone ? first?.offsetMinutes : undefined,
    },
  );
}
