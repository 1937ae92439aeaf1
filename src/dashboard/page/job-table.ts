import { counted } from '../../base/counted.ts';
import { isLowerBetter } from '../../base/metric-direction.ts';
import type { Board, BoardRow } from '../page-data.ts';
import { html, symbolOf } from './dom.ts';
import { phaseLegend, timeline } from './pictures.ts';

/** As in the style. A fixed height lets the scroll position determine the visible rows. */
const rowHeight = 36;
const spareRows = 6;
const columns = ['Job', 'Parameters', 'State', 'Attempts', 'Where', 'Figures', 'Note'];

/** Only the visible rows are in the page, so that ten thousand jobs scroll smoothly. */
export class JobTable {
  readonly element: HTMLElement;
  readonly #openJob: (id: string) => void;
  #rows = new Map<string, BoardRow>();
  #shown: BoardRow[] = [];
  #span = { from: 0, to: 1 };
  #chosen = '';
  #isWaiting = false;
  #search = html('input', { type: 'search', id: 'search', placeholder: 'job, site or text' });
  #states = html('select', { id: 'state' }, html('option', { value: '' }, 'all states'));
  #sort = html('select', { id: 'sort' }, html('option', { value: '' }, 'job'));
  #found = html('span', { class: 'found', role: 'status' });
  #body = html('tbody');
  #table = html(
    'table',
    { class: 'jobs' },
    html('caption', { class: 'unseen' }, 'Jobs of the run'),
    html('thead', {}, html('tr', {}, ...columns.map(heading))),
    this.#body,
  );
  #port = html(
    'div',
    { class: 'port', tabindex: '0', role: 'region', 'aria-label': 'Jobs (scrollable)' },
    this.#table,
  );

  constructor(openJob: (id: string) => void, phases: readonly string[]) {
    this.#openJob = openJob;
    this.#search.addEventListener('input', () => this.#filter());
    this.#states.addEventListener('change', () => this.#filter());
    this.#sort.addEventListener('change', () => this.#filter());
    this.#port.addEventListener('scroll', () => this.#scheduleDraw());
    new ResizeObserver(() => this.#scheduleDraw()).observe(this.#port);
    this.element = html(
      'section',
      { class: 'panel', 'aria-labelledby': 'jobs-title' },
      html('h2', { id: 'jobs-title' }, 'Jobs'),
      html(
        'div',
        { class: 'tools' },
        html('label', { for: 'search' }, 'Find'),
        this.#search,
        html('label', { for: 'state' }, 'State'),
        this.#states,
        html('label', { for: 'sort' }, 'Sort by'),
        this.#sort,
        this.#found,
      ),
      phaseLegend(phases),
      this.#port,
    );
  }

  update(board: Board, changed: BoardRow[], reset: boolean) {
    if (reset) this.#rows.clear();
    for (const row of changed) this.#rows.set(row.id, row);
    this.#span = { from: board.createdAt ?? board.at, to: board.endedAt ?? board.at };
    const known = new Set([...this.#states.options].map(({ value }) => value));
    for (const state of new Set(changed.map((row) => row.state)).difference(known))
      this.#states.append(html('option', { value: state }, state));
    const sorted = new Set([...this.#sort.options].map(({ value }) => value));
    for (const name of new Set(changed.flatMap((row) => Object.keys(row.metrics))).difference(sorted))
      this.#sort.append(html('option', { value: name }, name));
    if (changed.some(({ parameters }) => parameters !== '')) this.#table.classList.add('sweep');
    this.#filter();
  }

  /** An empty id means none. */
  choose(id: string) {
    this.#chosen = id;
    this.#scheduleDraw();
  }

  #filter() {
    const words = this.#search.value.trim().toLowerCase();
    const state = this.#states.value;
    const all = bestFirst([...this.#rows.values()], this.#sort.value);
    this.#shown =
      words === '' && state === ''
        ? all
        : all.filter((row) => (state === '' || row.state === state) && searchTextOf(row).includes(words));
    const jobs = counted(all.length, 'job');
    this.#found.textContent = this.#shown.length === all.length ? jobs : `${this.#shown.length} of ${jobs}`;
    this.#table.setAttribute('aria-rowcount', String(this.#shown.length + 1));
    this.#scheduleDraw();
  }

  /** Several changes before the next frame are drawn once. */
  #scheduleDraw() {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    requestAnimationFrame(() => {
      this.#isWaiting = false;
      this.#draw();
    });
  }

  #draw() {
    const first = Math.max(0, Math.floor(this.#port.scrollTop / rowHeight) - spareRows);
    const count = Math.ceil(this.#port.clientHeight / rowHeight) + 2 * spareRows;
    const part = this.#shown.slice(first, first + count);
    const focused = document.activeElement?.closest('tr')?.dataset.job;
    this.#body.replaceChildren(
      spacer(first),
      ...part.map((row, index) => this.#rowElement(row, first + index)),
      spacer(this.#shown.length - first - part.length),
    );
    if (focused === undefined) return;
    const button: HTMLElement | null = this.#body.querySelector(
      `tr[data-job="${CSS.escape(focused)}"] button`,
    );
    button?.focus({ preventScroll: true });
  }

  #rowElement(row: BoardRow, index: number) {
    const isChosen = row.id === this.#chosen;
    const open = () => this.#openJob(row.id);
    const figures = figuresOf(row, this.#sort.value);
    const button = { type: 'button', class: 'link', click: open, 'aria-pressed': String(isChosen) };
    return html(
      'tr',
      {
        'aria-rowindex': String(index + 2),
        'data-job': row.id,
        ...(isChosen ? { class: 'chosen' } : {}),
      },
      html('td', { class: 'job' }, html('button', button, row.id)),
      html('td', { class: 'parameters', title: row.parameters }, row.parameters),
      html('td', { class: 'state', 'data-tone': row.tone }, symbolOf(row.tone), row.state),
      html('td', { class: 'attempts' }, timeline(row.bars, this.#span)),
      html('td', { class: 'where', title: row.where }, row.where),
      html('td', { class: 'figures', title: figures }, figures),
      html('td', { class: 'note', title: row.note }, row.note),
    );
  }
}

const searchTextOf = ({ id, parameters, state, where, note }: BoardRow) =>
  `${id} ${parameters} ${state} ${where} ${note}`.toLowerCase();

/** What they are sorted by comes first: the rest may be cut. */
function figuresOf({ metrics, figures }: BoardRow, metric: string): string {
  const value = metrics[metric];
  return value === undefined ? figures : `${metric} ${Number(value.toPrecision(4))} · ${figures}`;
}

/** The rows by a metric, those without it last; by job, if none is named. */
function bestFirst(rows: BoardRow[], metric: string): BoardRow[] {
  if (metric === '') return rows;
  const worst = isLowerBetter(metric) ? Infinity : -Infinity;
  const sign = isLowerBetter(metric) ? 1 : -1;
  const value = (row: BoardRow): number => row.metrics[metric] ?? worst;
  return rows.sort((a, b) => (value(a) === value(b) ? 0 : sign * (value(a) - value(b))));
}

const heading = (name: string) => html('th', { scope: 'col', class: name.toLowerCase() }, name);

function spacer(rows: number) {
  const row = html('tr', { 'aria-hidden': 'true', class: 'gap' }, html('td'));
  row.style.height = `${Math.max(0, rows) * rowHeight}px`;
  return row;
}
