import { counted } from '../../base/counted.ts';
import { describeParameters, jobLabel } from '../../job/describe-parameters.ts';
import { shortNumber } from '../axes.ts';
import type { Board, BoardRow } from '../page-data.ts';
import { firstOrder, type RowOrder, sortRows } from '../row-order.ts';
import { html, symbolOf } from './dom.ts';
import { phaseLegend, timeline } from './pictures.ts';

/** As in the style. A fixed height lets the scroll position determine the visible rows. */
const rowHeight = 36;
const spareRows = 6;
const columns = ['Job', 'Parameters', 'State', 'Metric', 'Attempts', 'Where', 'Figures', 'Note'] as const;
type Title = (typeof columns)[number];

interface TableContext {
  openJob: (id: string) => void;
  /** The rows that are found, in their order. */
  onShown: (rows: BoardRow[]) => void;
}

/** Only the visible rows are in the page, so that ten thousand jobs scroll smoothly. */
export class JobTable {
  readonly element: HTMLElement;
  readonly #context: TableContext;
  #rows = new Map<string, BoardRow>();
  #shown: BoardRow[] = [];
  #span = { from: 0, to: 1 };
  #chosen = '';
  #isWaiting = false;
  #search = html('input', { type: 'search', id: 'search', placeholder: 'job, site or text' });
  #states = html('select', { id: 'state' }, html('option', { value: '' }, 'all states'));
  #order: RowOrder = firstOrder({ of: 'column', name: 'job' });
  /** The metric of the column; empty before the first is reported. */
  #metric = '';
  #sort = html('select', { id: 'sort' });
  #headings = new Map(columns.map((title) => [title, this.#heading(title)]));
  #found = html('span', { class: 'found', role: 'status' });
  #body = html('tbody');
  #table = html(
    'table',
    { class: 'jobs' },
    html('caption', { class: 'unseen' }, 'Jobs of the run'),
    html('thead', {}, html('tr', {}, ...this.#headings.values())),
    this.#body,
  );
  #port = html(
    'div',
    { class: 'port', tabindex: '0', role: 'region', 'aria-label': 'Jobs (scrollable)' },
    this.#table,
  );

  constructor(context: TableContext, phases: readonly string[]) {
    this.#context = context;
    for (const title of columns) this.#addOrder('column', title.toLowerCase());
    this.#search.addEventListener('input', () => this.#filter());
    this.#states.addEventListener('change', () => this.#filter());
    this.#sort.addEventListener('change', () => {
      const [of = 'column', ...name] = this.#sort.value.split(' ');
      this.#sortBy({ of: of as RowOrder['of'], name: name.join(' ') });
    });
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
    for (const name of new Set(changed.flatMap((row) => Object.keys(row.parameters))))
      this.#addOrder('parameter', name);
    for (const name of new Set(changed.flatMap((row) => Object.keys(row.metrics))))
      this.#addOrder('metric', name);
    if (changed.some(({ parameters }) => Object.keys(parameters).length > 0))
      this.#table.classList.add('sweep');
    this.#filter();
  }

  /** Shows another metric; a table that was sorted by one is sorted by this one. */
  showMetric(metric: string) {
    this.#metric = metric;
    this.#table.classList.add('measured');
    const button = this.#headings.get('Metric')?.querySelector('button');
    if (button) button.textContent = metric;
    if (this.#order.of === 'metric') this.#sortBy({ of: 'metric', name: metric });
    else this.#scheduleDraw();
  }

  #addOrder(of: RowOrder['of'], name: string) {
    const value = `${of} ${name}`;
    if (name === 'metric' || name === 'parameters') return;
    if (![...this.#sort.options].some((option) => option.value === value))
      this.#sort.append(html('option', { value }, name));
  }

  #heading(title: Title) {
    const name = title.toLowerCase();
    if (title === 'Parameters') return html('th', { scope: 'col', class: name }, title);
    const click = () =>
      this.#sortBy(title === 'Metric' ? { of: 'metric', name: this.#metric } : { of: 'column', name });
    const attributes = { scope: 'col', class: name, 'aria-sort': title === 'Job' ? 'ascending' : 'none' };
    return html('th', attributes, html('button', { type: 'button', class: 'sort', click }, title));
  }

  /** The same again reverses it. */
  #sortBy(by: Pick<RowOrder, 'of' | 'name'>) {
    const isSame = by.of === this.#order.of && by.name === this.#order.name;
    this.#order = isSame ? { ...this.#order, descending: !this.#order.descending } : firstOrder(by);
    this.#sort.value = `${by.of} ${by.name}`;
    const sorted = by.of === 'metric' && by.name === this.#metric ? 'metric' : by.name;
    for (const [title, heading] of this.#headings) {
      const isThis = by.of !== 'parameter' && title.toLowerCase() === sorted;
      const direction = this.#order.descending ? 'descending' : 'ascending';
      if (title !== 'Parameters') heading.setAttribute('aria-sort', isThis ? direction : 'none');
    }
    this.#filter();
  }

  /** The job as people read it. */
  labelOf(id: string): string {
    return jobLabel(id, this.#rows.get(id)?.name);
  }

  /** An empty id means none. */
  choose(id: string) {
    this.#chosen = id;
    this.#scheduleDraw();
  }

  #filter() {
    const words = this.#search.value.toLowerCase().match(/\S+/g) ?? [];
    const state = this.#states.value;
    const all = sortRows([...this.#rows.values()], this.#order);
    const isFound = (row: BoardRow) => {
      const text = searchTextOf(row);
      return (state === '' || row.state === state) && words.every((word) => text.includes(word));
    };
    this.#shown = words.length === 0 && state === '' ? all : all.filter(isFound);
    const jobs = counted(all.length, 'job');
    this.#found.textContent = this.#shown.length === all.length ? jobs : `${this.#shown.length} of ${jobs}`;
    this.#table.setAttribute('aria-rowcount', String(this.#shown.length + 1));
    this.#context.onShown(this.#shown);
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
    const open = () => this.#context.openJob(row.id);
    const parameters = describeParameters(row.parameters);
    const figures = figuresOf(row, this.#order, this.#metric);
    const measured = row.metrics[this.#metric];
    const button = { type: 'button', class: 'link', click: open, 'aria-pressed': String(isChosen) };
    return html(
      'tr',
      { 'aria-rowindex': String(index + 2), 'data-job': row.id, ...(isChosen ? { class: 'chosen' } : {}) },
      html('td', { class: 'job' }, html('button', button, row.id)),
      html('td', { class: 'parameters', title: parameters }, row.name ?? ''),
      html('td', { class: 'state', 'data-tone': row.tone }, symbolOf(row.tone), row.state),
      html('td', { class: 'metric' }, measured === undefined ? '' : shortNumber(measured)),
      html('td', { class: 'attempts' }, timeline(row.bars, this.#span)),
      html('td', { class: 'where', title: row.where }, row.where),
      html('td', { class: 'figures', title: figures }, figures),
      html('td', { class: 'note', title: row.note }, row.note),
    );
  }
}

const searchTextOf = ({ id, parameters, name = '', state, where, note }: BoardRow) =>
  `${id} ${describeParameters(parameters)} ${name} ${state} ${where} ${note}`.toLowerCase();

/** What they are sorted by comes first, if it has no column: the rest may be cut. */
function figuresOf({ metrics, figures }: BoardRow, { of, name }: RowOrder, shown: string): string {
  const value = of === 'metric' && name !== shown ? metrics[name] : undefined;
  return value === undefined ? figures : `${name} ${shortNumber(value)} · ${figures}`;
}

function spacer(rows: number) {
  const row = html('tr', { 'aria-hidden': 'true', class: 'gap' }, html('td'));
  row.style.height = `${Math.max(0, rows) * rowHeight}px`;
  return row;
}
