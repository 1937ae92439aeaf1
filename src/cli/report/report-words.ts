import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errorReason } from '../../base/error-reason.ts';
import { Fault } from '../../fault/fault.ts';
import { attemptCsv } from '../../report/attempt-csv.ts';
import type { ReadLogs } from '../../report/read-logs.ts';
import { reportCharts } from '../../report/report-charts.ts';
import { reportHtml } from '../../report/report-html.ts';
import { sectionMarkdown } from '../../report/section-markdown.ts';
import { sectionText, type TextPage } from '../../report/section-text.ts';
import { sections, type Section } from '../../report/sections.ts';
import type { Cli } from '../cli.ts';
import { glyphsFor } from '../text/glyphs.ts';

/** How a report is to be shown. */
export interface ReportForm {
  json?: true;
  markdown?: true;
  csv?: true;
  html?: string;
}

/** Shows a report in the form asked for. */
export async function tellReport(cli: Cli, name: string, read: ReadLogs, form: ReportForm): Promise<void> {
  if (form.html !== undefined) await writePage(cli, name, read, form.html);
  else if (form.csv === true) for (const line of attemptCsv(read.ledger)) cli.out(line);
  else if (form.json === true) cli.out(`${JSON.stringify(read.report)}\n`);
  else tellSections(cli, name, sections(read.report), read.report.notes, form);
}

/** A file or a pipe has no width of its own. */
export const textPage = (cli: Cli): TextPage => ({
  width: cli.outIsTerminal ? cli.columns : 160,
  bar: glyphsFor(cli.env).done,
});

export function tellSections(
  cli: Cli,
  name: string,
  parts: readonly Section[],
  notes: readonly string[],
  { markdown }: ReportForm,
): void {
  if (markdown === true) {
    cli.out(`${[sectionMarkdown(`Where the time went: ${name}`, parts), ...notes].join('\n\n')}\n`);
    return;
  }
  cli.out(`${sectionText(parts, textPage(cli))}\n`);
  for (const note of notes) cli.out(`\n${note}\n`);
}

async function writePage(cli: Cli, name: string, read: ReadLogs, file: string): Promise<void> {
  const { report, jobs, ledger } = read;
  const page = reportHtml({
    title: `Where the time went: ${name}`,
    sections: sections(report),
    charts: reportCharts(jobs, ledger, report),
    notes: report.notes,
  });
  const target = path.resolve(cli.cwd, file);
  await writeFile(target, page).catch((cause: unknown) => {
    throw new Fault('file-invalid', `${target} cannot be written: ${errorReason(cause)}`, {
      about: target,
      cause,
      fix: 'Name a file in a folder that exists and is yours.',
    });
  });
  cli.err(`wrote ${target}\n`);
}
