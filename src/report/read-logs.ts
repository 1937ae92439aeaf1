import { counted } from '../base/counted.ts';
import { Fault } from '../fault/fault.ts';
import { ledgerOf, type Ledger } from './ledger.ts';
import type { JobHistory } from '../history/history.ts';
import { readHistory } from '../history/read-history.ts';
import { logReport, type LogReport } from './log-report.ts';
import { judgeJobs, type Validity } from './validity.ts';

/** Event logs, read and accounted for. */
export interface ReadLogs {
  jobs: JobHistory[];
  ledger: Ledger;
  report: LogReport;
}

/** Reads logs of the same or of different jobs, in any order; memory goes with the jobs and not with the logs. */
export async function readLogs(
  paths: readonly string[],
  { signal, ...validity }: Validity & { signal?: AbortSignal | undefined } = {},
): Promise<ReadLogs> {
  const { jobs: read, facts, garbledBytes } = await readHistory(paths, { signal });
  if (facts.events === 0 && garbledBytes > 0) throw noEvents(paths);
  const { jobs, suspects } = judgeJobs(read, validity);
  const ledger = ledgerOf(jobs, facts, new Set(suspects.map(({ job }) => job)));
  const notes = notesOn(ledger, garbledBytes);
  return { jobs, ledger, report: logReport(jobs, ledger, { logs: [...paths], notes, suspects }) };
}

function noEvents(paths: readonly string[]): Fault {
  const packed = paths.find((path) => /\.(gz|xz|bz2|zst)$/.test(path));
  return new Fault('file-invalid', `There is no HTCondor event in ${paths.join(', ')}.`, {
    fix:
      packed === undefined
        ? 'Name the log of the jobs, as `log` in their submit file says; their output is another file.'
        : 'It seems to be compressed: unpack it first, as in `zcat LOG.gz | updraft report -`.',
  });
}

function notesOn({ facts, sum, slotMillis }: Ledger, garbledBytes: number): string[] {
  const { events, cut, backwards, repeated, hasTransfers, guessedYear } = facts;
  const notes: [unless: boolean, text: string][] = [
    [events > 0, 'The log has no events: no job of it has been submitted yet.'],
    [garbledBytes === 0, `${garbledBytes} bytes are no events and are left out.`],
    [cut === 0, `${counted(cut, 'event')} without an end: the log was cut, or is being written.`],
    [
      backwards === 0,
      `${counted(backwards, 'event')} with a time before the one ahead; such count as of the same moment.`,
    ],
    [repeated === 0, `${counted(repeated, 'event')} in more than one log; such count once.`],
    [!guessedYear, 'The dates have no year, and nothing in the log says which: this one is a guess.'],
    [
      hasTransfers || slotMillis === 0,
      'The log has no events of transfers (a DAG’s .nodes.log has none): how long they took is unknown, and what came before the job started counts as queued.',
    ],
    [
      sum.unknown === 0,
      'Time in "unknown": a connection was lost, or no event says how an attempt began or ended.',
    ],
    [
      sum.underWay === 0,
      'Not decided yet: jobs still on a slot up to their last event, checkpoints that no attempt has used yet, and suspicious results.',
    ],
  ];
  return notes.flatMap(([unless, text]) => (unless ? [] : [text]));
}
