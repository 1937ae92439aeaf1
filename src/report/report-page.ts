import { groupedReport } from './grouped-report.ts';
import type { GroupingName } from './groupings.ts';
import { groupedSection } from './group-section.ts';
import { jobTable } from './job-table.ts';
import type { ReadLogs } from './read-logs.ts';
import { reportCharts } from './report-charts.ts';
import { reportHtml } from './report-html.ts';
import { sections, type SectionChoice } from './sections.ts';

/** A page with more rows than this opens slowly. */
const maxPageJobs = 1000;

/** What `report --html` writes: one self-contained page with tables and charts. */
export function reportPage(title: string, read: ReadLogs, choice: SectionChoice = {}): string {
  const { report, jobs, ledger } = read;
  const jobRows = jobTable(jobs, ledger.rows);
  return reportHtml({
    title,
    sections: sections(report, { jobRows, maxRows: maxPageJobs, ...choice }),
    charts: reportCharts(jobs, ledger, report),
    report,
  });
}

/** What `report --by` writes with `--html`. */
export function groupedPage(title: string, read: ReadLogs, by: GroupingName, all = false): string {
  const grouped = groupedReport(read, by);
  const report = { ...read.report, notes: grouped.notes };
  return reportHtml({ title, sections: [groupedSection(grouped, all)], charts: [], report });
}
