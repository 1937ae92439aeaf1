import { columns } from './columns.ts';
import type { EventLedger } from './event-ledger.ts';

/** A row per attempt, its wait before it included, and one per job for what came after; every second is in it once. */
export function* attemptCsv({ rows }: EventLedger): Generator<string> {
  yield csvLine(['job', 'outcome', 'attempt', 'ending', 'cause', 'site', 'machine', 'gpu', ...columns]);
  for (const { job, outcome, attempts, millis } of rows) {
    const rest = { ...millis };
    for (const row of attempts) {
      for (const column of columns) rest[column] -= row.millis[column];
      const { attempt, ending, cause = '', site, machine, gpu } = row;
      const seconds = columns.map((column) => String(row.millis[column] / 1000));
      yield csvLine([job, outcome, String(attempt), ending, cause, site, machine, gpu, ...seconds]);
    }
    if (attempts.length === 0 || columns.some((column) => rest[column] !== 0))
      yield csvLine([
        job,
        outcome,
        '',
        '',
        '',
        '',
        '',
        '',
        ...columns.map((column) => String(rest[column] / 1000)),
      ]);
  }
}

const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\n`;

/** Spreadsheets take a cell that begins with one of these for a formula. */
function csvCell(text: string): string {
  const safe = /^[=+@\t\r-]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
