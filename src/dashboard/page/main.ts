import type { Board, BoardUpdate, Opening } from '../page-data.ts';
import { actionDialog } from './action-dialog.ts';
import { html, show } from '@updraft/view/dom';
import { JobPanel } from './job-panel.ts';
import { JobTable } from './job-table.ts';
import { questions } from './questions.ts';
import { type ActionName, parsed, server } from './server.ts';
import { Sweep } from './sweep.ts';

const logMillis = 3000;

const opening = parsed(document.getElementById('opening')?.textContent ?? '') as Opening;
const live = opening.mode === 'live' ? server(opening.base) : undefined;
let board = opening.change.board;
let isConnected = true;

const isFile = () => Promise.resolve('This is a saved page, not a running dashboard.');
const labelOf = (id: string) => table.labelOf(id);
const dialogs = {
  stop: actionDialog('stop', live?.act('stop') ?? isFile, labelOf),
  retry: actionDialog('retry', live?.act('retry') ?? isFile, labelOf),
};
const panel = new JobPanel({
  detailOf: live?.detailOf ?? ((id) => Promise.resolve(opening.details[id])),
  logOf: live?.logOf,
  resultsOf: live?.resultsOf,
  hrefOf: (id, file) => live?.hrefOf(id, file) ?? '',
  nowOf: (id) => table.nowOf(id),
  curveOf: (id) => sweep.curveOf(id),
  ask: { stop: dialogs.stop.ask, retry: dialogs.retry.ask },
  onClose: () => table.choose(''),
});
const sweep = new Sweep({
  curvesOf: live?.curvesOf ?? ((metric) => Promise.resolve(opening.curves[metric])),
  resultsOf: live?.resultsOf,
  hrefOf: (id, file) => live?.hrefOf(id, file) ?? '',
  openJob,
  onMetric: (measured) => table.showMetric(measured),
  onView: () => void panel.showCurve(),
  placeOf: (id) => `${board.place}/results/${id}`,
});
const table = new JobTable({ openJob, onShown: (rows) => sweep.update(rows) }, opening.phases);
const work = html('div', { class: 'work' }, table.element, panel.element);
const overview = questions({ openJob, labelOf });
const numbers = figures();
const link = html('span', { class: 'live', role: 'status' });
const about = html('p', { class: 'about' });
const stopButton = html(
  'button',
  { type: 'button', class: 'danger', click: () => ask('stop') },
  'Stop the run …',
);
const retryButton = html(
  'button',
  { type: 'button', class: 'act', click: () => ask('retry') },
  'Try failed jobs again …',
);

function openJob(id: string) {
  table.choose(id);
  void panel.open(id, labelOf(id));
}

function ask(action: ActionName) {
  const how = board[action];
  if (how !== null) dialogs[action].ask(how.command, []);
}

function applyUpdate({ board: next, rows, reset }: BoardUpdate) {
  board = next;
  document.title = `${next.verdict.tone === 'bad' ? '✗ ' : ''}${next.name} · Updraft`;
  const when = new Date(next.at).toLocaleString();
  show(about, `pool ${next.pool} · ${next.place} · ${live === undefined ? 'as of' : 'updated'} ${when}`);
  stopButton.hidden = live === undefined || next.stop === null;
  retryButton.hidden = live === undefined || next.retry === null;
  sweep.showMetrics(next.metrics);
  table.update(next, rows, reset);
  overview.update(next);
  numbers.update(next);
  // What a sweep measured comes first; of other runs, the jobs.
  const follower = table.isSweep ? work : numbers.element;
  if (sweep.element.nextElementSibling !== follower) follower.before(sweep.element);
  showConnection();
  if (rows.some(({ id }) => id === panel.job)) void panel.refresh();
}

function showConnection() {
  const [words, tone] = describeConnection();
  link.textContent = words;
  link.dataset.tone = tone;
}

function describeConnection(): [words: string, tone: string] {
  if (live === undefined) return ['saved page, not live', 'idle'];
  if (!isConnected) return ['disconnected, reconnecting …', 'bad'];
  return board.endedAt === null ? ['live', 'good'] : ['ended', 'idle'];
}

const runs = html(
  'nav',
  { 'aria-label': 'Runs' },
  ...opening.runs.map(({ name, href, current }) =>
    html('a', current ? { href, 'aria-current': 'page' } : { href }, name),
  ),
);

document
  .getElementById('page')
  ?.append(
    html('a', { href: '#jobs-title', class: 'skip' }, 'Skip to the jobs'),
    html(
      'header',
      {},
      html(
        'div',
        { class: 'row' },
        html('h1', {}, board.run === '' ? board.name : board.run),
        link,
        retryButton,
        stopButton,
      ),
      about,
      ...(opening.runs.length > 1 ? [runs] : []),
    ),
    html('main', {}, overview.element, work, numbers.element),
    html('footer', {}, `Updraft ${opening.version}. In a terminal: updraft status, updraft report.`),
    dialogs.stop.element,
    dialogs.retry.element,
  );
applyUpdate(opening.change);
if (live !== undefined) {
  live.follow(applyUpdate, (connected) => {
    isConnected = connected;
    showConnection();
  });
  setInterval(() => void panel.refresh(), logMillis);
}
const [only] = opening.change.rows;
if (only !== undefined && board.jobs === 1) {
  table.choose(only.id);
  void panel.show(only.id, labelOf(only.id));
}

/** The tables of the report. Their markup is escaped, and the page's policy lets it run nothing. */
function figures() {
  const element = html('div', { class: 'numbers' });
  const update = ({ tables }: Board) => {
    const { body } = new DOMParser().parseFromString(tables, 'text/html');
    show(element, ...body.childNodes);
  };
  return { element, update };
}
