import { counted } from '../../base/counted.ts';
import {
  describeParameters,
  jobLabel,
  type ParameterColumn,
  parameterColumns,
  showValue,
} from '../../job/describe-parameters.ts';
import { shortNumber } from '../axes.ts';
import type { Board, BoardMetric, BoardRow } from '../page-data.ts';
import { firstOrder, type Measured, measuredBy, type RowOrder, sortRows } from '../row-order.ts';
import { html, symbolOf } from './dom.ts';
import { phaseLegend, timeline } from './pictures.ts';

/** As in the style. A fixed height lets the scroll position determine the visible rows. */
const rowHeight = 36;
const spareRows = 6;
/** Those of parameters are between them. */
const columns = {
  before: ['Job', 'State', 'Metric'],
  after: ['Attempts', 'Where', 'Figures', 'Note'],
} as const;
const titles = [...columns.before, ...columns.after];
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
  #order: RowOrder = firstOrder({ of: 'column', name: 'job' });
  #metrics: readonly BoardMetric[] = [];
  /** The metric of the column; without a name before the first is reported. */
  #measured: Measured = { of: 'metric', name: '', isLowerBetter: false };
  #parameters: ParameterColumn[] = [];
  #sort = html('select', { id: 'sort' });
  #headings = new Map(titles.map((title) => [title, this.#heading(title)]));
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
    for (const title of titles) if (title !== 'Metric') this.#addOrder('column', title.toLowerCase());
    this.#showHeadings();
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
        tool('Find', this.#search),
        tool('State', this.#states),
        tool('Sort by', this.#sort),
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
    this.#metrics = board.metrics;
    this.#span = { from: board.createdAt ?? board.at, to: board.endedAt ?? board.at };
    const known = new Set([...this.#states.options].map(({ value }) => value));
    for (const state of new Set(changed.map((row) => row.state)).difference(known))
      this.#states.append(html('option', { value: state }, state));
    for (const name of new Set(changed.flatMap((row) => Object.keys(row.parameters))))
      this.#addOrder('parameter', name);
    for (const name of new Set(changed.flatMap((row) => Object.keys(row.metrics))))
      this.#addOrder('metric', name);
    for (const name of new Set(changed.flatMap((row) => Object.keys(row.best ?? {}))))
      this.#addOrder('best', name);
    // The values of a job never change.
    if (reset || this.#rows.size !== before) this.#showParameters();
    this.#filter();
  }

  /** Shows another metric; a table that was sorted by the one before is sorted by this one. */
  showMetric(measured: Measured) {
    const { of, name } = this.#measured;
    const isSorted = this.#order.of === of && this.#order.name === name;
    this.#measured = measured;
    this.#table.classList.add('measured');
    const button = this.#headings.get('Metric')?.querySelector('button');
    if (button) button.textContent = `${measured.of === 'best' ? 'best ' : ''}${measured.name}`;
    this.#setWidths();
    if (isSorted) this.#sortBy(measured);
    else this.#scheduleDraw();
  }

  /** Columns of parameters and the metric are as wide as they need; a wider table scrolls. */
  #setWidths() {
    const widthOf = textMeasure(this.#table);
    let all = 0;
    for (const heading of this.#headRow.querySelectorAll<HTMLElement>('.metric, .parameter')) {
      const texts = this.#parameters.find(({ name }) => name === heading.title)?.texts ?? ['-0.0000'];
      const title = widthOf(heading.textContent) + sortMark;
      const width = Math.ceil(Math.max(title, ...texts.map(widthOf))) + columnSpace;
      heading.style.width = `${width}px`;
      if (getComputedStyle(heading).display !== 'none') all += width;
    }
    this.#table.style.setProperty('--needed', `${all}px`);
  }

  #showParameters() {
    this.#parameters = parameterColumns([...this.#rows.values()].map(({ parameters }) => parameters));
    this.#table.classList.toggle('sweep', this.#parameters.length > 0);
    this.#showHeadings(
      this.#parameters.map(({ name, title, isNumber }) => {
        const heading = sortHeading(
          title,
          { class: `parameter${isNumber ? ' number' : ''}`, title: name },
          () => this.#sortBy({ of: 'parameter', name }),
        );
        heading.dataset.sort = `parameter ${name}`;
        return heading;
      }),
    );
  }

  #showHeadings(given: HTMLElement[] = []) {
    const fixed = (list: readonly (typeof titles)[number][]) =>
      list.map((title) => this.#headings.get(title) ?? '');
    this.#headRow.replaceChildren(...fixed(columns.before), ...given, ...fixed(columns.after));
    this.#markSorted();
    this.#setWidths();
  }

  #addOrder(of: RowOrder['of'], name: string) {
    const value = `${of} ${name}`;
    if ([...this.#sort.options].some((option) => option.value === value)) return;
    this.#sort.append(html('option', { value }, of === 'best' ? `best ${name}` : name));
  }

  #heading(title: (typeof titles)[number]) {
    const name = title.toLowerCase();
    const click = () => this.#sortBy(title === 'Metric' ? this.#measured : { of: 'column', name });
    const heading = sortHeading(title, { class: name }, click);
    if (title !== 'Metric') heading.dataset.sort = `column ${name}`;
    return heading;
  }

  /** The same again reverses it. */
  #sortBy({ of, name }: Pick<RowOrder, 'of' | 'name'>) {
    const isSame = of === this.#order.of && name === this.#order.name;
    this.#order = isSame
      ? { ...this.#order, descending: !this.#order.descending }
      : firstOrder({ of, name }, this.#metrics);
    this.#sort.value = `${of} ${name}`;
    this.#markSorted();
    this.#filter();
  }

  #markSorted() {
    const { of, name, descending } = this.#order;
    const metric = `${this.#measured.of} ${this.#measured.name}`;
    for (const heading of this.#headRow.querySelectorAll('th')) {
      const isThis = (heading.dataset.sort ?? metric) === `${of} ${name}`;
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
    const figures = figuresOf(row, this.#order, this.#measured);
    const measured = measuredBy(row, this.#measured);
    const button = { type: 'button', class: 'link', click: open, 'aria-pressed': String(isChosen) };
    return html(
      'tr',
      { 'aria-rowindex': String(index + 2), 'data-job': row.id, ...(isChosen ? { class: 'chosen' } : {}) },
      html('td', { class: 'job' }, html('button', button, row.id)),
      html(
        'td',
        { class: 'state', 'data-tone': row.tone, title: row.state },
        symbolOf(row.tone),
        html('span', { class: 'word' }, row.state),
      ),
      html('td', { class: 'metric' }, measured === undefined ? '' : shortNumber(measured)),
      ...this.#parameters.map(({ name, isNumber, textOf }) => {
        const value = row.parameters[name];
        const kind = { class: `parameter${isNumber ? ' number' : ''}` };
        if (value === undefined) return html('td', kind);
        return html('td', { ...kind, title: `${name}=${showValue(value)}` }, textOf(value));
      }),
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
function figuresOf(row: BoardRow, { of, name }: RowOrder, shown: Measured): string {
  if ((of !== 'metric' && of !== 'best') || (of === shown.of && name === shown.name)) return row.figures;
  const value = measuredBy(row, { of, name });
  const named = `${of === 'best' ? 'best ' : ''}${name}`;
  return value === undefined ? row.figures : `${named} ${shortNumber(value)} · ${row.figures}`;
}

const tool = (label: string, input: HTMLElement) =>
  html('span', { class: 'tool' }, html('label', { for: input.id }, label), input);

/** How wide a text is in this element. */
function textMeasure(element: Element): (text: string) => number {
  const canvas = document.createElement('canvas').getContext('2d');
  if (canvas === null) return (text) => 9 * text.length;
  canvas.font = getComputedStyle(element).font;
  return (text) => canvas.measureText(text).width;
}

const sortHeading = (title: string, attributes: Record<string, string>, click: () => void) =>
  html(
    'th',
    { scope: 'col', 'aria-sort': 'none', ...attributes },
    html('button', { type: 'button', class: 'sort', click }, title),
  );

function spacer(rows: number) {
  const row = html('tr', { 'aria-hidden': 'true', class: 'gap' }, html('td'));
  row.style.height = `${Math.max(0, rows) * rowHeight}px`;
  return row;
}
