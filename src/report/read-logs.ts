import { Fault } from '../fault/fault.ts';
import { ledgerOf, type EventLedger } from './event-ledger.ts';
import type { JobHistory } from '../history/history.ts';
import { readHistory } from '../history/read-history.ts';
import { logReport, type LogReport } from './log-report.ts';

/** Event logs, read and accounted for. */
export interface ReadLogs {
  jobs: JobHistory[];
  ledger: EventLedger;
  report: LogReport;
}

/** Reads logs of the same or of different jobs, in any order; memory goes with the jobs and not with the logs. */
export async function readLogs(paths: readonly string[], signal?: AbortSignal): Promise<ReadLogs> {
  const { jobs, facts, garbledBytes } = await readHistory(paths, { signal });
  if (facts.events === 0 && garbledBytes > 0) throw noEvents(paths);
  const ledger = ledgerOf(jobs, facts);
  return { jobs, ledger, report: logReport([...paths], jobs, ledger, notesOn(ledger, garbledBytes)) };
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

function notesOn({ facts, sum }: EventLedger, garbledBytes: number): string[] {
  const { events, cut, backwards, repeated } = facts;
  const notes: [unless: boolean, text: string][] = [
    [events > 0, 'The log has no events: no job of it has been submitted yet.'],
    [garbledBytes === 0, `${garbledBytes} bytes are no events and are left out.`],
    [cut === 0, `${cut} event(s) break off: the log was cut, or is being written.`],
    [
      backwards === 0,
      `${backwards} event(s) carry a time before the one ahead; they count as of the same moment.`,
    ],
    [repeated === 0, `${repeated} event(s) stand in more than one log and count once.`],
    [
      sum.unknown === 0,
      'Time in "unknown": a connection was lost, or no event tells how an attempt began or ended.',
    ],
    [
      sum.underWay === 0,
      'Jobs still on a slot are accounted for up to their last event; it is not decided yet if that is useful.',
    ],
  ];
  return notes.flatMap(([unless, text]) => (unless ? [] : [text]));
}
