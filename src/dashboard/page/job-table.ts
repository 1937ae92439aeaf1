import { counted } from '@updraft/base';
import {
  describeParameters,
  jobLabel,
  type ParameterColumn,
  parameterColumns,
  showValue,
} from '@updraft/account/parameters';
import { shortNumber } from '@updraft/view/charts';
import type { Board, BoardRow } from '../page-data.ts';
import {
  divergedBy,
  firstOrder,
  type Measured,
  measuredBy,
  type RowOrder,
  sortRows,
  titleOf,
} from '../row-order.ts';
import { html, tool } from '@updraft/view/dom';
import { phaseLegend, symbolOf, timeline } from './pictures.ts';

/** As in the style. A fixed height lets the scroll position determine the visible rows. */
const rowHeight = 36;
const spareRows = 6;
/** Where there is less room than for these, a table does not begin with the last columns. */
const [roomForAll, roomForSome] = [900, 560];

interface Column {
  of: RowOrder['of'];
  name: string;
  title: string;
  kind: string;
  /** It begins hidden in a narrower table. */
  from?: number;
  hintOf?: (row: BoardRow) => string;
  fill: (row: BoardRow) => (Node | string)[];
}

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
  #order: RowOrder = firstOrder('column', 'job');
  /** Undefined before the first is reported. */
  #measured: Measured | undefined;
  #parameters: ParameterColumn[] = [];
  #columns: Column[] = [];
  /** What the reader chose to see or not. */
  #wanted = new Map<string, boolean>();
  #menu = html('div', { class: 'menu' });
  #headRow = html('tr');
  #found = html('span', { class: 'found', role: 'status' });
  #body = html('tbody');
  #table = html(
    'table',
    { class: 'jobs' },
    html('caption', { class: 'unseen' }, 'Jobs of the run'),
    html('thead', {}, this.#headRow),
    this.#body,
  );
  #port = html(
    'div',
    { class: 'port', tabindex: '0', role: 'region', 'aria-label': 'Jobs (scrollable)' },
    this.#table,
  );

  constructor(context: TableContext, phases: readonly string[]) {
    this.#context = context;
    this.#search.addEventListener('input', () => this.#filter());
    this.#states.addEventListener('change', () => this.#filter());
    this.#port.addEventListener('scroll', () => this.#scheduleDraw());
    new ResizeObserver(() => this.#showHeadings()).observe(this.#port);
    this.element = html(
      'section',
      { class: 'panel', 'aria-labelledby': 'jobs-title' },
      html('h2', { id: 'jobs-title' }, 'Jobs'),
      html(
        'div',
        { class: 'tools' },
        tool('Find', this.#search),
        tool('State', this.#states),
        html('details', { id: 'columns' }, html('summary', {}, 'Columns'), this.#menu),
        this.#found,
      ),
      phaseLegend(phases),
      this.#port,
    );
  }

  update(board: Board, changed: BoardRow[], reset: boolean) {
    if (reset) this.#rows.clear();
    const before = this.#rows.size;
    for (const row of changed) this.#rows.set(row.id, row);
    this.#span = { from: board.createdAt ?? board.at, to: board.endedAt ?? board.at };
    const known = new Set([...this.#states.options].map(({ value }) => value));
    for (const state of new Set(changed.map((row) => row.state)).difference(known))
      this.#states.append(html('option', { value: state }, state));
    // The values of a job never change.
    if (reset || this.#rows.size !== before) this.#showParameters();
    this.#filter();
  }

  /** Shows another metric; a table that was sorted by the one before is sorted by this one. */
  showMetric(measured: Measured) {
    this.#measured = measured;
    this.#showHeadings();
    if (this.#order.of === 'metric') this.#sortBy('metric', '', true);
    else this.#scheduleDraw();
  }

  /** Whether jobs differ in a parameter. */
  get isSweep() {
    return this.#parameters.length > 0;
  }

  #showParameters() {
    this.#parameters = parameterColumns([...this.#rows.values()].map(({ parameters }) => parameters));
    this.#table.classList.toggle('sweep', this.isSweep);
    this.#showHeadings();
  }

  #allColumns(): Column[] {
    const column = (
      name: string,
      title: string,
      fill: Column['fill'],
      more: Partial<Column> = {},
    ): Column => ({
      of: 'column',
      name,
      title,
      kind: name,
      fill,
      ...more,
    });
    const text = (name: 'where' | 'figures' | 'note', title: string, from: number) =>
      column(name, title, (row) => [row[name]], { from, hintOf: (row) => row[name] });
    const measured = this.#measured;
    const metric =
      measured &&
      column('', titleOf(measured), (row) => [metricOf(row, measured)], { of: 'metric', kind: 'metric' });
    const parameters = this.#parameters.map(({ name, title, isNumber, textOf }) =>
      column(name, title, ({ parameters: { [name]: value = '' } }) => [textOf(value)], {
        of: 'parameter',
        kind: isNumber ? 'parameter number' : 'parameter',
        hintOf: ({ parameters: cell }) => `${name}=${showValue(cell[name] ?? '')}`,
      }),
    );
    const stateOf = ({ tone, state }: BoardRow) =>
      html('span', { 'data-tone': tone }, symbolOf(tone), html('span', { class: 'word' }, state));
    return [
      column('job', 'Job', (row) => [this.#button(row)]),
      column('state', 'State', (row) => [stateOf(row)], { hintOf: ({ state }) => state }),
      ...(metric === undefined ? [] : [metric]),
      ...parameters,
      column('attempts', 'Attempts', ({ bars }) => [timeline(bars, this.#span)], { from: roomForSome }),
      text('where', 'Where', roomForAll),
      text('figures', 'Figures', roomForAll),
      text('note', 'Note', roomForSome),
    ];
  }

  #showHeadings() {
    const all = this.#allColumns();
    const room = this.#port.clientWidth;
    const isShown = ({ name, from = 0 }: Column) => this.#wanted.get(name) ?? room >= from;
    this.#columns = all.filter(isShown);
    this.#headRow.replaceChildren(...this.#columns.map((column) => this.#heading(column)));
    this.#offerColumns(all.slice(1), isShown);
    this.#markSorted();
    this.#draw();
  }

  #offerColumns(columns: readonly Column[], isShown: (column: Column) => boolean) {
    const boxes = columns.map((column) => {
      const box = html('input', { type: 'checkbox', id: `column ${column.of} ${column.name}` });
      box.checked = isShown(column);
      box.addEventListener('change', () => {
        this.#wanted.set(column.name, box.checked);
        this.#showHeadings();
      });
      return tool(column.title, box);
    });
    const textOf = (items: Iterable<Node>) => [...items].map((item) => item.textContent).join('\n');
    if (textOf(this.#menu.children) !== textOf(boxes)) this.#menu.replaceChildren(...boxes);
  }

  #heading({ of, name, title, kind }: Column) {
    const click = () => this.#sortBy(of, name);
    const button = html('button', { type: 'button', class: 'sort', click }, title);
    const hint = of === 'parameter' ? { title: name } : {};
    return html('th', { scope: 'col', 'data-sort': `${of} ${name}`, class: kind, ...hint }, button);
  }

  /** The same again reverses it. */
  #sortBy(of: RowOrder['of'], name: string, isNew = of !== this.#order.of || name !== this.#order.name) {
    const { descending } = this.#order;
    this.#order = isNew ? firstOrder(of, name, this.#measured) : { of, name, descending: !descending };
    this.#markSorted();
    this.#filter();
  }

  #markSorted() {
    const { of, name, descending } = this.#order;
    for (const heading of this.#headRow.querySelectorAll('th')) {
      const isThis = heading.dataset.sort === `${of} ${name}`;
      heading.ariaSort = isThis ? (descending ? 'descending' : 'ascending') : 'none';
    }
  }

  /** The job as people read it. */
  labelOf(id: string): string {
    return jobLabel(id, this.#rows.get(id)?.name);
  }

  /** What it is doing, in one line. */
  nowOf(id: string): string {
    const { state = '', where = '', figures = '', note = '' } = this.#rows.get(id) ?? {};
    return [state, where, figures, note].filter((text) => text !== '').join(' · ');
  }

  /** An empty id means none. */
  choose(id: string) {
    this.#chosen = id;
    this.#scheduleDraw();
  }

  #filter() {
    const words = this.#search.value.toLowerCase().match(/\S+/g) ?? [];
    const state = this.#states.value;
    const all = sortRows([...this.#rows.values()], this.#order, this.#measured);
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

  #button({ id }: BoardRow) {
    const click = () => this.#context.openJob(id);
    const isChosen = String(id === this.#chosen);
    return html('button', { type: 'button', class: 'link', click, 'aria-pressed': isChosen }, id);
  }

  #rowElement(row: BoardRow, index: number) {
    const cells = this.#columns.map(({ kind, hintOf, fill }) =>
      html('td', { class: kind, ...(hintOf && { title: hintOf(row) }) }, ...fill(row)),
    );
    const chosen = row.id === this.#chosen ? { class: 'chosen' } : {};
    return html('tr', { 'aria-rowindex': index + 2, 'data-job': row.id, ...chosen }, ...cells);
  }
}

function metricOf(row: BoardRow, measured: Measured): string {
  const value = measuredBy(row, measured);
  return value === undefined ? (divergedBy(row, measured) ?? '') : shortNumber(value);
}

const searchTextOf = ({ id, parameters, name = '', state, where, note }: BoardRow) =>
  `${id} ${describeParameters(parameters)} ${name} ${state} ${where} ${note}`.toLowerCase();

function spacer(rows: number) {
  const row = html('tr', { 'aria-hidden': 'true', class: 'gap' }, html('td'));
  row.style.height = `${Math.max(0, rows) * rowHeight}px`;
  return row;
}
