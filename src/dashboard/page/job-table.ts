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
/** The metric and parameters are between them. */
const columns = {
  before: ['Job', 'State'],
  after: ['Attempts', 'Where', 'Figures', 'Note'],
} as const;
/** Pixels around the text of a column, and of the mark of the one that is sorted by. */
const [columnSpace, sortMark] = [18, 18];

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
    this.#showHeadings();
    this.#search.addEventListener('input', () => this.#filter());
    this.#states.addEventListener('change', () => this.#filter());
    this.#port.addEventListener('scroll', () => this.#scheduleDraw());
    new ResizeObserver(() => this.#scheduleDraw()).observe(this.#port);
    this.element = html(
      'section',
      { class: 'panel', 'aria-labelledby': 'jobs-title' },
      html('h2', { id: 'jobs-title' }, 'Jobs'),
      html('div', { class: 'tools' }, tool('Find', this.#search), tool('State', this.#states), this.#found),
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

  /** Columns of the metric and of parameters are as wide as they need; a wider table scrolls. */
  #showHeadings() {
    const widthOf = textMeasure(this.#table);
    let needed = 0;
    const fixed = (title: string) =>
      this.#heading(title, { class: title.toLowerCase() }, 'column', title.toLowerCase());
    const fitted = (heading: HTMLElement, texts: readonly string[]) => {
      const width = Math.max(widthOf(heading.innerText) + sortMark, ...texts.map(widthOf)) + columnSpace;
      heading.style.width = `${Math.ceil(width)}px`;
      needed += width;
      return heading;
    };
    const metric =
      this.#measured && this.#heading(titleOf(this.#measured), { class: 'metric' }, 'metric', '');
    this.#headRow.replaceChildren(
      ...columns.before.map(fixed),
      ...(metric === undefined ? [] : [fitted(metric, ['-0.0000'])]),
      ...this.#parameters.map(({ name, title, isNumber, texts }) =>
        fitted(this.#heading(title, { class: kindOf(isNumber), title: name }, 'parameter', name), texts),
      ),
      ...columns.after.map(fixed),
    );
    this.#table.style.setProperty('--needed', `${Math.ceil(needed)}px`);
    this.#markSorted();
  }

  #heading(title: string, attributes: Record<string, string>, of: RowOrder['of'], name: string) {
    const click = () => this.#sortBy(of, name);
    const button = html('button', { type: 'button', class: 'sort', click }, title);
    return html('th', { scope: 'col', 'data-sort': `${of} ${name}`, ...attributes }, button);
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

  #rowElement(row: BoardRow, index: number) {
    const isChosen = row.id === this.#chosen;
    const open = () => this.#context.openJob(row.id);
    const measured = this.#measured && measuredBy(row, this.#measured);
    const button = { type: 'button', class: 'link', click: open, 'aria-pressed': String(isChosen) };
    return html(
      'tr',
      { 'aria-rowindex': index + 2, 'data-job': row.id, ...(isChosen ? { class: 'chosen' } : {}) },
      html('td', { class: 'job' }, html('button', button, row.id)),
      html(
        'td',
        { class: 'state', 'data-tone': row.tone, title: row.state },
        symbolOf(row.tone),
        html('span', { class: 'word' }, row.state),
      ),
      this.#measured === undefined
        ? null
        : html(
            'td',
            { class: 'metric' },
            measured === undefined ? (divergedBy(row, this.#measured) ?? '') : shortNumber(measured),
          ),
      ...this.#parameters.map(({ name, isNumber, textOf }) => {
        const value = row.parameters[name];
        if (value === undefined) return html('td', { class: 'parameter' });
        const title = `${name}=${showValue(value)}`;
        return html('td', { class: kindOf(isNumber), title }, textOf(value));
      }),
      html('td', { class: 'attempts' }, timeline(row.bars, this.#span)),
      html('td', { class: 'where', title: row.where }, row.where),
      html('td', { class: 'figures', title: row.figures }, row.figures),
      html('td', { class: 'note', title: row.note }, row.note),
    );
  }
}

const searchTextOf = ({ id, parameters, name = '', state, where, note }: BoardRow) =>
  `${id} ${describeParameters(parameters)} ${name} ${state} ${where} ${note}`.toLowerCase();

const kindOf = (isNumber: boolean) => (isNumber ? 'parameter number' : 'parameter');

/** How wide a text is in this element. */
function textMeasure(element: Element): (text: string) => number {
  const canvas = document.createElement('canvas').getContext('2d');
  if (canvas === null) return (text) => 9 * text.length;
  canvas.font = getComputedStyle(element).font;
  return (text) => canvas.measureText(text).width;
}

function spacer(rows: number) {
  const row = html('tr', { 'aria-hidden': 'true', class: 'gap' }, html('td'));
  row.style.height = `${Math.max(0, rows) * rowHeight}px`;
  return row;
}
