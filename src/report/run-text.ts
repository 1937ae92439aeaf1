import { printable } from '../base/printable.ts';
import { phaseTable } from './phase-table.ts';
import type { RunReport } from './log/read-run.ts';
import { sectionText, type TextPage } from './section-text.ts';
import { sections } from './sections.ts';

/** More attempts than this are for `--csv`. */
const mostAttempts = 30;

/** A run's report as plain text: as of any log, and what each attempt did; ends without a line end. */
export function runText(report: RunReport, page: TextPage): string {
  const { run, name, pool, attempts, notes } = report;
  const attemptLines =
    attempts === 0 || attempts > mostAttempts
      ? []
      : ['', 'Attempts, by phase', ...phaseTable(report, page.width - 2).map((line) => `  ${line}`)];
  return [
    `run ${printable(run)} (${printable(name)}, pool ${printable(pool)})`,
    '',
    sectionText(sections(report), page),
    ...attemptLines,
    ...notes.flatMap((note) => ['', printable(note)]),
  ].join('\n');
}
