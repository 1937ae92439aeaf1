import { comparisonCharts } from './compare/comparison-charts.ts';
import { comparisonSections } from './compare/comparison-sections.ts';
import { groupedReport, type GroupedReport } from './grouped-report.ts';
import { groupedSection } from './group-section.ts';
import { jobTable } from './job-table.ts';
import type { LogReport } from './log-report.ts';
import type { ReadLogs } from './read-logs.ts';
import { reportCharts } from './report-charts.ts';
import { reportHtml } from '@updraft/view/html';
import type { Chart, Section } from '@updraft/view/document';
import { cacheSiteSection, sections, type SectionChoice } from './sections.ts';

/** A page with more rows than this opens slowly. */
const maxPageJobs = 1000;

/** What `report --html` writes: one self-contained page with tables and charts, those of the caller first. */
export function reportPage(
  title: string,
  read: ReadLogs,
  choice: SectionChoice = {},
  more: readonly Chart[] = [],
): string {
  const { report, jobs, ledger } = read;
  const jobRows = jobTable(jobs, ledger.rows);
  return reportHtml({
    title,
    sections: sections(report, { jobRows, maxRows: maxPageJobs, ...choice }),
    charts: [...more, ...reportCharts(jobs, ledger, report)],
    report,
  });
}

/** What `report --by` writes with `--html`. */
export function groupedPage(title: string, read: ReadLogs, by: string, all = false): string {
  const grouped = groupedReport(read, by);
  return comparisonPage(title, grouped, read.report, groupedSections(read, grouped, all));
}

/** What `report --by` shows: caches also with the sites that they served. */
export function groupedSections({ report, jobs }: ReadLogs, grouped: GroupedReport, all: boolean): Section[] {
  const isParameter = (name: string) => jobs.some(({ parameters = {} }) => Object.hasOwn(parameters, name));
  const names = grouped.by.split(',').map((name) => name.trim());
  const isByCache = ['cache', 'warmth'].some((name) => names.includes(name) && !isParameter(name));
  const served = isByCache ? [cacheSiteSection(report, all)] : [];
  return [
    groupedSection(grouped, all),
    ...served.filter(({ rows }) => rows.length > 0),
    ...comparisonSections(grouped, all),
  ];
}

/** What `compare` writes with `--html`. */
export function comparisonPage(
  title: string,
  grouped: GroupedReport,
  report: Pick<LogReport, 'verdict'>,
  parts: readonly Section[],
): string {
  const charts = comparisonCharts(grouped);
  return reportHtml({ title, sections: parts, charts, report: { ...report, notes: grouped.notes } });
}
