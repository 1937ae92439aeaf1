import { element, escapeMarkup } from './charts/svg.ts';
import type { LogReport } from './log-report.ts';
import type { Chart } from './report-charts.ts';
import { reportStyle } from './report-style.ts';
import type { Section } from './sections.ts';

interface HtmlPage {
  title: string;
  sections: readonly Section[];
  charts: readonly Chart[];
  report: Pick<LogReport, 'verdict' | 'notes'>;
}

/** One self-contained page: no script, nothing fetched, every text from a log escaped. */
export function reportHtml({ title, sections, charts, report }: HtmlPage): string {
  const links = sections.map(({ id, title: text }) => element('a', { href: `#${id}` }, escapeMarkup(text)));
  const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
  // A job alone has no table of the most wasteful ones, but its charts are wanted all the same.
  const homes = new Set(sections.map(({ id }) => id));
  const homeless = charts.filter(({ section }) => section !== 'top' && !homes.has(section));
  const chartsOf = (id: string) => charts.filter(({ section }) => section === id).map(chartHtml);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${element('meta', { 'http-equiv': 'Content-Security-Policy', content: policy })}
${element('title', {}, escapeMarkup(title))}
<style>${reportStyle}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the report</a>
<header>
${element('h1', {}, escapeMarkup(title))}
<nav aria-label="Parts of the report">${links.join('\n')}</nav>
</header>
<main id="main">
${verdictHtml(report)}
${chartsOf('top').join('\n')}
${sections.map((section) => sectionHtml(section, chartsOf(section.id))).join('\n')}
${homeless.map(chartHtml).join('\n')}
${notesHtml(report.notes)}
</main>
</body>
</html>
`;
}

function verdictHtml({ verdict }: HtmlPage['report']): string {
  if (verdict === null) return '';
  const line = verdict.line === null ? '' : element('pre', {}, escapeMarkup(verdict.line));
  return element('p', { class: 'verdict' }, withCode(escapeMarkup(verdict.text))) + line;
}

function sectionHtml({ id, title, head, rows, bars, after = [] }: Section, charts: string[]): string {
  const heads = head.map(({ title: text, align }) =>
    element('th', { scope: 'col', class: align }, escapeMarkup(text)),
  );
  const titled = head.some((column) => column.title !== '');
  const body = rows.map((row, index) => rowHtml(row, head, bars?.[index]));
  return element(
    'section',
    { id, 'aria-labelledby': `${id}-heading` },
    element('h2', { id: `${id}-heading` }, escapeMarkup(title)),
    element(
      'div',
      { class: 'wide', tabindex: 0, role: 'region', 'aria-labelledby': `${id}-heading` },
      element(
        'table',
        {},
        element('caption', {}, escapeMarkup(title)),
        ...(titled
          ? [`<thead><tr>${heads.join('')}${bars === undefined ? '' : '<td></td>'}</tr></thead>`]
          : []),
        `<tbody>${body.join('\n')}</tbody>`,
      ),
    ),
    ...after.map((text) =>
      text.startsWith('  ')
        ? element('p', { class: 'quote' }, escapeMarkup(text.trim()))
        : element('p', {}, withCode(escapeMarkup(text))),
    ),
    ...charts,
  );
}

/** Our own sentences mark commands and settings as Markdown does. */
const withCode = (markup: string): string => markup.replaceAll(/`([^`]+)`/g, '<code>$1</code>');

function rowHtml(row: readonly string[], head: Section['head'], bar: number | undefined): string {
  const cells = row.map((text, index) =>
    index === 0
      ? element('th', { scope: 'row' }, escapeMarkup(text))
      : element('td', { class: head[index]?.align }, escapeMarkup(text)),
  );
  const drawn =
    bar === undefined
      ? ''
      : element(
          'td',
          { class: 'bar', 'aria-hidden': 'true' },
          element('i', { style: `width:${(bar * 100).toFixed(1)}%` }, ''),
        );
  return `<tr>${cells.join('')}${drawn}</tr>`;
}

const chartHtml = ({ title, svg }: Chart): string =>
  element(
    'figure',
    {},
    element('figcaption', {}, escapeMarkup(title)),
    element('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': title }, svg),
  );

function notesHtml(notes: readonly string[]): string {
  if (notes.length === 0) return '';
  return `<section><h2>Notes</h2><ul>${notes.map((note) => element('li', {}, escapeMarkup(note))).join('')}</ul></section>`;
}
