import { printable } from '../base/printable.ts';
import { clip, textTable, widthOf } from '../base/text-table.ts';
import { columns, type Column } from './ledger.ts';
import type { RunPhases } from './run-phases.ts';
import { showMillis } from './show-millis.ts';

/**
 * A row per attempt and the sum. Where not all columns fit, the smallest are added up as `other`, so that a row
 * still adds up.
 */
export function phaseTable(phases: RunPhases, width: number): string[] {
  const { phaseSeconds } = phases;
  const used = columns.filter((column) => phaseSeconds[column] > 0);
  const bySize = used.toSorted((a, b) => phaseSeconds[b] - phaseSeconds[a]);
  for (let kept = used.length; ; kept -= 1) {
    const shown = new Set(bySize.slice(0, kept));
    const table = tableOf(
      phases,
      used.filter((column) => shown.has(column)),
      used.filter((column) => !shown.has(column)),
    );
    if (kept <= 1 || table.every((line) => widthOf(line) <= width)) return table;
  }
}

function tableOf({ attemptRows, phaseSeconds }: RunPhases, shown: Column[], other: Column[]): string[] {
  const show = (seconds: number) => (seconds === 0 ? '-' : showMillis(seconds * 1000));
  const cells = (seconds: Record<Column, number>, total: number) => [
    ...shown.map((column) => show(seconds[column])),
    other.length === 0 ? '' : show(other.reduce((sum, column) => sum + seconds[column], 0)),
    showMillis(total * 1000),
  ];
  const rows = attemptRows.map(({ job, attempt, outcome, host, site, seconds, totalSeconds }) => [
    printable(job),
    String(attempt),
    outcome,
    clip(printable(site === '' ? host : site), 16),
    ...cells(seconds, totalSeconds),
  ]);
  const total = attemptRows.reduce((sum, attempt) => sum + attempt.totalSeconds, 0);
  const sum = ['all', String(attemptRows.length), '', '', ...cells(phaseSeconds, total)];
  const right = (title: string) => ({ title, align: 'right' as const });
  const titles = [...shown.map((column) => right(short[column])), right('other'), right('total')];
  return textTable(
    [{ title: 'job' }, right('try'), { title: 'outcome' }, { title: 'where' }, ...titles],
    [...rows, sum],
  );
}

/** Short titles, so that more columns fit. */
const short: Record<Column, string> = {
  queued: 'queued',
  preparing: 'prep',
  fetching: 'fetch',
  unpacking: 'unpack',
  training: 'train',
  saving: 'save',
  returning: 'return',
  cleaning: 'clean',
  stalled: 'stalled',
  overhead: 'over',
  unknown: 'unknown',
};
