import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errorReason } from '../../base/error-reason.ts';
import { Fault } from '../../fault/fault.ts';
import { attemptCsv } from '../../report/attempt-csv.ts';
import { jobCsv, jobTable, type JobTableRow } from '../../report/job-table.ts';
import type { ReadLogs } from '../../report/read-logs.ts';
import { reportPage } from '../../report/report-page.ts';
import { reportMarkdown, reportText, sectionText, type TextPage } from '../../report/report-text.ts';
import { sections, type Section, type SectionChoice } from '../../report/sections.ts';
import type { Cli } from '../cli.ts';
import { glyphsFor } from '../text/glyphs.ts';

/** How to show a report. */
export interface ReportForm {
  json?: true;
  markdown?: true;
  csv?: true;
  html?: string;
  all?: true;
  /** A row for every job. */
  jobs?: true;
}

/** Shows a report in the requested form. */
export async function printReport(cli: Cli, name: string, read: ReadLogs, form: ReportForm): Promise<void> {
  if (form.html !== undefined) return writePage(cli, name, read, form);
  const jobRows = jobTable(read.jobs, read.ledger.rows);
  if (form.csv === true)
    for (const line of form.jobs === true ? jobCsv(jobRows) : attemptCsv(read.ledger)) cli.out(line);
  else if (form.json === true)
    cli.out(`${JSON.stringify(form.jobs === true ? { ...read.report, jobRows } : read.report)}\n`);
  else if (form.markdown === true) {
    const parts = sections(read.report, sectionChoice(form, jobRows));
    const text = reportMarkdown(`Where the time went: ${name}`, parts, read.report);
    cli.out(`${[text, ...read.report.notes].join('\n\n')}\n`);
  } else {
    cli.out(
      `${reportText(read.report, sections(read.report, sectionChoice(form, jobRows)), textPage(cli))}\n`,
    );
  }
}

export function sectionChoice(form: ReportForm, jobRows: readonly JobTableRow[]): SectionChoice {
  const { all = false, jobs = false } = form;
  return { all, jobRows, ...(jobs ? { maxRows: jobRows.length } : {}) };
}

/** A file or a pipe has no width. */
export const textPage = (cli: Cli): TextPage => ({
  width: cli.outIsTerminal ? cli.columns : 160,
  glyphs: glyphsFor(cli.env),
});

/** Only sections, such as of a comparison. */
export function printSections(
  cli: Cli,
  name: string,
  parts: readonly Section[],
  { markdown }: ReportForm,
): void {
  const text = markdown === true ? reportMarkdown(`Where the time went: ${name}`, parts) : undefined;
  cli.out(`${text ?? sectionText(parts, textPage(cli))}\n`);
}

async function writePage(cli: Cli, name: string, read: ReadLogs, form: ReportForm): Promise<void> {
  const { all = false, jobs = false } = form;
  const choice = { all, ...(jobs ? { maxRows: read.jobs.length } : {}) };
  const page = reportPage(`Where the time went: ${name}`, read, choice);
  const target = path.resolve(cli.cwd, form.html ?? '');
  await writeFile(target, page).catch((cause: unknown) => {
    throw new Fault('file-invalid', `${target} cannot be written: ${errorReason(cause)}`, {
      about: target,
      cause,
      fix: 'name a file in an existing folder that you can write to',
    });
  });
  cli.err(`wrote ${target}\n`);
}
