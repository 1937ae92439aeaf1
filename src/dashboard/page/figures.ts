import { formatSize } from '../../job/units.ts';
import { formatMillis } from '../../report/format.ts';
import type { Board, Waste } from '../page-data.ts';
import { html, show, shareOf } from './dom.ts';

export function figures() {
  const waste = html('div', { id: 'waste' });
  const sites = html('div', { id: 'sites' });
  const caches = html('div', { id: 'caches' });
  const element = html(
    'div',
    { class: 'numbers' },
    panel('Where the time on slots went', waste),
    panel('Sites', sites),
    panel('Caches and origins', caches),
  );
  const update = (board: Board) => {
    show(waste, wasteTable(board.waste));
    show(sites, siteTable(board));
    show(caches, cacheTable(board));
  };
  return { element, update };
}

const panel = (title: string, content: HTMLElement) =>
  html(
    'section',
    { class: 'panel' },
    html('h2', {}, title),
    html('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-label': title }, content),
  );

function wasteTable({ slot, useful, moving, waiting, overhead, unknown, open, lost, queued }: Waste) {
  if (slot === 0) return html('p', {}, 'No time on a slot yet.');
  const rows = [
    { name: 'training that led to a result', what: '', millis: useful, kind: 'useful' },
    { name: 'data, checkpoints and results', what: '', millis: moving, kind: 'moving' },
    { name: 'training that waited for data', what: '', millis: waiting, kind: 'waiting' },
    { name: 'set-up and other overhead', what: '', millis: overhead, kind: 'open' },
    { name: 'unknown', what: 'No event or report covers it.', millis: unknown, kind: 'open' },
    { name: 'attempts still under way', what: '', millis: open, kind: 'open' },
    ...lost.map(({ cause, what, millis, attempts }) => ({
      name: `lost: ${cause} (${attempts})`,
      what,
      millis,
      kind: 'lost',
    })),
  ].filter(({ millis }) => millis > 0);
  const lines = rows.map(({ name, what, millis, kind }) => {
    const bar = html('div', { class: 'bar', 'data-kind': kind });
    bar.style.width = `${((100 * millis) / slot).toFixed(2)}%`;
    return [
      html('span', {}, name, what === '' ? null : html('small', {}, ` ${what}`)),
      bar,
      formatMillis(millis),
      shareOf(millis, slot),
    ];
  });
  const table = tableOf(['What', '', 'Time', 'Share'], lines, 'waste');
  if (queued === 0) return table;
  return html('div', {}, table, html('p', {}, `Not on a slot: ${formatMillis(queued)} queued.`));
}

function siteTable({ sites }: Board) {
  if (sites.length === 0) return html('p', {}, 'No attempt has started yet.');
  const lines = sites.map(({ site, attempts, success, running, lost, training, slot }) => [
    site,
    String(attempts),
    String(success),
    String(running),
    String(lost),
    formatMillis(training),
    formatMillis(slot),
  ]);
  return tableOf(['Site', 'Attempts', 'Success', 'Running', 'Lost', 'Training', 'On slots'], lines);
}

function cacheTable({ caches }: Board) {
  if (caches.length === 0) return html('p', {}, 'Nothing has been fetched from a server yet.');
  const lines = caches.map(({ server, fetches, bytes, meanRate, rate, setbacks, lastSetback }) => [
    server,
    String(fetches),
    formatSize(bytes),
    meanRate === null ? '–' : `${formatSize(meanRate)}/s`,
    rate === 0 ? '–' : `${formatSize(rate)}/s`,
    html('span', {}, String(setbacks), setbacks === 0 ? null : html('small', {}, lastSetback)),
  ]);
  return tableOf(['Server', 'Fetches', 'Bytes', 'Mean rate', 'Now', 'Setbacks'], lines);
}

const tableOf = (titles: string[], lines: (Node | string)[][], kind: string = 'plain') =>
  html(
    'table',
    { class: kind },
    html('thead', {}, html('tr', {}, ...titles.map((title) => html('th', { scope: 'col' }, title)))),
    html('tbody', {}, ...lines.map((line) => html('tr', {}, ...line.map((cell) => html('td', {}, cell))))),
  );
