import { element, escapeMarkup } from '../charts/svg.ts';
import { inlineHtml } from './document-html.ts';
import { type Chart, type PageVerdict, type Section, withoutEmptyColumns } from '../document/document.ts';

interface HtmlPage {
  title: string;
  sections: readonly Section[];
  charts: readonly Chart[];
  report: { verdict: PageVerdict | null; notes: readonly string[] };
}

/** One self-contained page: no script but the one that sorts, nothing fetched, every text from a log escaped. */
export function reportHtml({ title, sections: all, charts, report }: HtmlPage): string {
  const sections = all.map(withoutEmptyColumns);
  const links = sections.map(({ id, title: text }) => element('a', { href: `#${id}` }, escapeMarkup(text)));
  const policy =
    `default-src 'none'; style-src 'unsafe-inline'; script-src '${sortScriptHash}'; ` +
    "base-uri 'none'; form-action 'none'";
  // A report on one job has no table of wasteful jobs, but still has its charts.
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
<script>${sortScript}</script>
</body>
</html>
`;
}

function verdictHtml({ verdict }: HtmlPage['report']): string {
  if (verdict === null) return '';
  const line = verdict.line === null ? '' : element('pre', {}, escapeMarkup(verdict.line));
  return element('p', { class: 'verdict' }, inlineHtml(verdict.text)) + line;
}

/** A table with its heading and sentences, and these charts. */
export function sectionHtml(
  { id, title, columns, rows, bars, after = [] }: Section,
  charts: string[],
): string {
  const heads = columns.map(({ title: text, align }) =>
    element('th', { scope: 'col', class: align }, escapeMarkup(text)),
  );
  const titled = columns.some((column) => column.title !== '');
  const body = rows.map((row, index) => rowHtml(row, columns, bars?.[index]));
  return element(
    'section',
    { id, 'aria-labelledby': `${id}-heading` },
    element('h2', { id: `${id}-heading` }, escapeMarkup(title)),
    element(
      'div',
      { class: 'wide', tabindex: 0, role: 'group', 'aria-labelledby': `${id}-heading` },
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
        : element('p', {}, inlineHtml(text)),
    ),
    ...charts,
  );
}

function rowHtml(row: readonly string[], columns: Section['columns'], bar: number | undefined): string {
  const cells = row.map((text, index) =>
    index === 0
      ? element('th', { scope: 'row', class: columns[index]?.align }, escapeMarkup(text))
      : element('td', { class: columns[index]?.align }, escapeMarkup(text)),
  );
  const drawn =
    bar === undefined
      ? ''
      : element(
          'td',
          { class: 'bar', 'aria-hidden': 'true' },
          element(
            'svg',
            { viewBox: '0 0 100 1', preserveAspectRatio: 'none' },
            element('rect', { width: Math.max(bar * 100, 0.2), height: 1 }),
          ),
        );
  return `<tr>${cells.join('')}${drawn}</tr>`;
}

const chartHtml = ({ title, svg }: Chart): string =>
  element(
    'figure',
    {},
    element('figcaption', {}, escapeMarkup(title)),
    element('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': title }, svg),
  );

function notesHtml(notes: readonly string[]): string {
  if (notes.length === 0) return '';
  const items = notes.map((note) => element('li', {}, escapeMarkup(note)));
  return `<section><h2>Notes</h2><ul>${items.join('')}</ul></section>`;
}

/** The colours of lines, bands and their numbers, which text can have on this background. */
const rankStyle = (colours: string): string =>
  colours
    .split(' ')
    .map((colour, rank) => {
      const of = `[data-rank='${rank}']`;
      return `.line${of} { stroke: ${colour}; } :is(.band, .rank)${of} { fill: ${colour}; }`;
    })
    .join('\n');

/** Follows the system's colour scheme; fits narrow screens and paper. */
export const reportStyle = `
:root { color-scheme: light dark; --text: #1b1f24; --back: #ffffff; --soft: #f3f5f7; --line: #d5dae0; --mark: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8eaed; --back: #15181c; --soft: #20252b; --line: #3a424b; --mark: #56b4e9; }
  svg circle[fill='#0072b2'] { fill: var(--mark); }
  svg path[stroke='#0072b2'] { stroke: var(--mark); }
}
${rankStyle('#0067a3 #c44f00 #00805c #b0528a #8a6a00 #2a7fb8 #7440a0 #7a4b3a')}
@media (prefers-color-scheme: dark) {
  ${rankStyle('#56b4f5 #ff9350 #35cf9f #eb9cc8 #f0c04a #9ad7ff #c39bea #d2a796')}
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 4rem; font: 16px/1.5 system-ui, sans-serif;
  color: var(--text); background: var(--back); }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
header p { margin: 0 0 .8rem; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; }
a { color: var(--mark); }
a:focus-visible, .wide:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; }
.skip { position: absolute; left: -999rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--back); padding: .3rem .6rem; }
.wide { overflow-x: auto; }
/* Only for screen readers: the heading above says the same. */
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
table { border-collapse: collapse; min-width: min(34rem, 100%); font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem 1.4rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; font-weight: inherit; }
thead th { font-size: .85rem; opacity: .8; }
th[aria-sort] > button { all: unset; cursor: pointer; }
th[aria-sort] > button:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; }
th[aria-sort='ascending'] > button::after { content: ' \\25B2' / ''; }
th[aria-sort='descending'] > button::after { content: ' \\25BC' / ''; }
tbody th { white-space: nowrap; }
.right { text-align: right; white-space: nowrap; }
/* Long names and titles make room for the figures. */
thead th, thead .right { white-space: normal; vertical-align: bottom; }
#groups tbody th, #cost tbody th, #time tbody th, [id^='measure-'] tbody th {
  white-space: normal; min-width: 9rem; overflow-wrap: anywhere; }
.bar { width: 22rem; min-width: 6rem; padding-right: 0; }
.bar svg { height: .8rem; margin-top: .35rem; min-width: 0; fill: var(--mark); }
p { margin: .5rem 0; overflow-wrap: anywhere; }
code { font-size: .92em; }
.quote { border-left: 3px solid var(--line); padding-left: .8rem; font-size: .9rem; opacity: .85; }
.verdict { font-size: 1.1rem; font-weight: 600; margin-top: 1.4rem; }
pre { background: var(--soft); border: 1px solid var(--line); padding: .5rem .8rem; overflow-x: auto; }
figure { margin: 1.2rem 0 2rem; }
figcaption { font-weight: 600; margin-bottom: .4rem; }
svg { display: block; width: 100%; min-width: 40rem; height: auto; }
#summary th { width: 16rem; }
#jobs td { white-space: nowrap; }
#groups th, #groups td { padding-right: .7rem; }
#groups td { white-space: nowrap; }
#groups .bar { width: 6rem; min-width: 4rem; }
@media (max-width: 40rem) {
  th, td { padding-right: .9rem; }
  #time .bar { display: none; }
  .bar { width: 8rem; }
  tbody td:last-child:not(.right, .bar) { min-width: 11rem; }
  #summary th, #time tbody th { min-width: 8rem; width: 8rem; white-space: normal; }
}
@media print {
  :root { color-scheme: light; --text: #000; --back: #fff; --soft: #fff; --line: #bbb; }
  nav, .skip { display: none; }
  figure, tr { break-inside: avoid; }
  h2 { break-after: avoid; }
  .wide { overflow: visible; }
  svg { min-width: 0; }
}
`;

/**
 * The only script of a report's page: a heading sorts its table, by mouse or keyboard. Without it, the tables are as
 * written. A last row named `all` stays there, whatever the order, and so do cells without a value.
 */
export const sortScript = `
for (const table of document.querySelectorAll('table')) {
  const body = table.tBodies[0];
  const heads = body && body.rows.length > 1 && table.tHead ? [...table.tHead.rows[0].cells] : [];
  const last = body?.rows[body.rows.length - 1];
  heads.forEach((head, column) => {
    if (head.tagName !== 'TH' || head.textContent === '') return;
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute('aria-sort', 'none');
    const isNumber = head.classList.contains('right');
    button.onclick = () => {
      const before = head.getAttribute('aria-sort');
      const isDown = before === 'none' ? isNumber : before === 'ascending';
      for (const other of heads) if (other.hasAttribute('aria-sort')) other.setAttribute('aria-sort', 'none');
      head.setAttribute('aria-sort', isDown ? 'descending' : 'ascending');
      const rows = [...body.rows].map((row) => ({ row, text: row.cells[column]?.textContent ?? '' }));
      const rank = ({ row, text }) =>
        row === last && row.cells[0].textContent === 'all' ? 2 : ['', '-', 'NaN'].includes(text) ? 1 : 0;
      const compare = (a, b) =>
        isNumber ? numberIn(a.text) - numberIn(b.text) || 0 : a.text.localeCompare(b.text, 'en', { numeric: true });
      rows.sort((a, b) => rank(a) - rank(b) || (rank(a) > 0 ? 0 : isDown ? compare(b, a) : compare(a, b)));
      body.append(...rows.map(({ row }) => row));
    };
  });
}
function numberIn(text) {
  const units = { d: 86400, h: 3600, m: 60, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
  const [, whole, unit, rest, small] = /^(-?[\\d.]+(?:e[+-]?\\d+)?)\\s*([a-zA-Z]*)(?:(\\d+)([a-z]))?/.exec(text) ?? [];
  return Number(whole ?? -Infinity) * (units[unit] ?? 1) + Number(rest ?? 0) * (units[small] ?? 1);
}
`;

/** What the page's policy allows; a test compares it with the script. */
export const sortScriptHash = 'sha256-8eBrm7ZMfhp8YQveWHFLuTBsh+sLJKIMAytGJLDwzKE=';
