import path from 'node:path';
import { Option } from 'commander';
import {
  attemptCsv,
  groupCsv,
  groupedPage,
  groupedReport,
  groupedSections,
  jobCsv,
  jobTable,
  type JobTableRow,
  type LogReport,
  maxJobs,
  type ReadLogs,
  reportPage,
  reportText,
  type SectionChoice,
  sections,
} from '@updraft/account/report';
import { type Chart, type Section, sectionsMarkdown, type TextPage } from '@updraft/view/document';
import type { Cli } from '../cli.ts';
import { glyphsFor } from '../text/glyphs.ts';
import { printJson, outWidth } from '../text/phrases.ts';
import { writeNamed } from '../write-named.ts';

/** What a report or a table may be printed or written as: one of them at a time. */
export const forms = ['json', 'csv', 'markdown', 'latex', 'svg', 'html'];

/** The option for one of the forms. */
export function formOption(flags: string, what: string): Option {
  const option = new Option(flags, what);
  return option.conflicts(forms.filter((form) => form !== option.attributeName()));
}

/** How to show a report. */
export interface ReportForm {
  json?: true;
  markdown?: true;
  csv?: true;
  html?: string;
  all?: true;
  /** A row for every job. */
  jobs?: true;
  /** Only groups of jobs or attempts. */
  by?: string;
}

/** Shows a report in the requested form; `charts` are more for its page. */
export async function printReport(
  cli: Cli,
  name: string,
  read: ReadLogs,
  form: ReportForm,
  charts?: readonly Chart[],
): Promise<void> {
  const shown = form.by === undefined ? wholeReport(read, form, charts) : reportBy(read, form.by, form);
  const heading = `${shown.title}: ${name}`;
  if (form.html !== undefined) return writePage(cli, form.html, shown.page(heading));
  if (form.csv === true) for (const line of shown.csv()) cli.out(line);
  else if (form.json === true) printJson(cli, shown.json());
  else if (form.markdown === true)
    cli.out(
      `${[sectionsMarkdown(heading, shown.sections(), shown.report.verdict), ...shown.report.notes].join('\n\n')}\n`,
    );
  else cli.out(`${reportText(shown.report, shown.sections(), textPage(cli))}\n`);
}

/** A report in every form. */
interface ShownReport {
  title: string;
  report: LogReport;
  sections: () => Section[];
  page: (heading: string) => string;
  csv: () => Iterable<string>;
  json: () => object;
}

function wholeReport(read: ReadLogs, form: ReportForm, charts?: readonly Chart[]): ShownReport {
  const { report, jobs, ledger } = read;
  const rows = () => jobTable(jobs, ledger.rows);
  const { all = false } = form;
  return {
    title: 'Where the time went',
    report,
    sections: () =>
      sections(report, sectionChoice(form, form.jobs === true || jobs.length <= maxJobs ? rows() : [])),
    page: (heading) =>
      reportPage(heading, read, { all, ...(form.jobs === true ? { maxRows: jobs.length } : {}) }, charts),
    csv: () => (form.jobs === true ? jobCsv(rows()) : attemptCsv(ledger)),
    json: () => (form.jobs === true ? { ...report, jobRows: rows() } : report),
  };
}

function reportBy(read: ReadLogs, by: string, { all }: ReportForm): ShownReport {
  const grouped = groupedReport(read, by);
  const parts = groupedSections(read, grouped, all === true);
  const report = { ...read.report, notes: grouped.notes };
  return {
    title: parts[0]?.title ?? '',
    report,
    sections: () => parts,
    page: (heading) => groupedPage(heading, read, by, all),
    csv: () => groupCsv(grouped),
    json: () => grouped,
  };
}

export function sectionChoice(form: ReportForm, jobRows: readonly JobTableRow[]): SectionChoice {
  const { all = false, jobs = false } = form;
  return { all, jobRows, ...(jobs ? { maxRows: jobRows.length } : {}) };
}

/** The page for stdout; `all` names the options that show what does not fit. */
export const textPage = (cli: Cli, all = ''): TextPage => ({
  width: outWidth(cli),
  glyphs: glyphsFor(cli.env),
  all,
});

/** Writes a page to a file that the user named. */
export async function writePage(cli: Cli, file: string, page: string): Promise<void> {
  const target = path.resolve(cli.cwd, file);
  await writeNamed(target, page);
  cli.err(`wrote ${target}\n`);
}
