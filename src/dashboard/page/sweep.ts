import { counted, formatSize } from '@updraft/base';
import { jobLabel } from '@updraft/account/parameters';
import { shortNumber } from '../axes.ts';
import type { BoardMetric, BoardRow, MetricCurves, ResultFile } from '../page-data.ts';
import { bestFirst, divergedBy, divergedText, type Measured, measuredBy, titleOf } from '../row-order.ts';
import { curveChart } from './curve-chart.ts';
import { html, show } from '@updraft/view/dom';
import type { LineChart } from './line-layer.ts';
import { parallelChart } from './parallel-chart.ts';

interface SweepContext {
  curvesOf: (metric: string) => Promise<MetricCurves | undefined>;
  /** Undefined in a static page, which has no files. */
  resultsOf: ((id: string) => Promise<ResultFile[]>) | undefined;
  hrefOf: (id: string, file: string) => string;
  openJob: (id: string) => void;
  onMetric: (measured: Measured) => void;
  /** Where the job's results are, for the reader. */
  placeOf: (id: string) => string;
}

/** Jobs in colour; more cannot be distinguished. */
const inColour = 8;
/** Curves are read and drawn again at most this often. */
const refreshMs = 5000;

/** What the jobs measured: curves over each other, parameters and their effect, and the best of them. */
export class Sweep {
  readonly element: HTMLElement;
  readonly #context: SweepContext;
  #rows: BoardRow[] = [];
  /** Best first; those that diverged have no rank, and come last. */
  #ordered: BoardRow[] = [];
  #ranked: BoardRow[] = [];
  #curves: MetricCurves | undefined;
  /** They were asked for in vain. */
  #isMissing = false;
  #charts: LineChart[] = [];
  #picked = '';
  #offered = '';
  #isVisible = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #metrics: readonly BoardMetric[] = [];
  #metric = html('select', { id: 'metric' });
  #of = html(
    'select',
    { id: 'of', hidden: '', 'aria-label': 'Which value of the metric' },
    html('option', { value: 'last' }, 'last value'),
    html('option', { value: 'best' }, 'best value'),
  );
  #readout = html('p', { class: 'readout', role: 'status' });
  #curveBox = chartBox('curves', 'Curves');
  #parallelBox = chartBox('parallel', 'Parameters');
  #parallel = html('figure', { hidden: '' }, html('figcaption', {}, 'Parameters'), this.#parallelBox);
  #curveTitle = html('figcaption');
  #best = html('ol', { class: 'best' });
  #model = html('p', { class: 'model' });

  constructor(context: SweepContext) {
    this.#context = context;
    this.#metric.addEventListener('change', () => this.#onMetric());
    this.#of.addEventListener('change', () => this.#onMetric(false));
    this.element = html(
      'section',
      { class: 'panel sweep', 'aria-labelledby': 'sweep-title', hidden: '' },
      html('h2', { id: 'sweep-title' }, 'What the jobs measured'),
      html(
        'div',
        { class: 'tools' },
        html('label', { for: 'metric' }, 'Metric'),
        this.#metric,
        this.#of,
        this.#model,
      ),
      html('div', { class: 'charts' }, html('figure', {}, this.#curveTitle, this.#curveBox), this.#parallel),
      this.#readout,
      this.#best,
    );
    for (const box of [this.#curveBox, this.#parallelBox]) this.#listen(box);
    new ResizeObserver(() => this.#draw()).observe(this.#curveBox);
    new IntersectionObserver(([entry]) => {
      this.#isVisible = entry?.isIntersecting === true;
      if (this.#isVisible) void this.#refresh();
    }).observe(this.element);
  }

  get metric() {
    return this.#metric.value;
  }

  get #measured(): Measured {
    const { metric: name } = this;
    const { isLowerBetter = false } = this.#metrics.find((one) => one.name === name) ?? {};
    return { name, isLowerBetter, of: this.#of.value === 'best' ? 'best' : 'last' };
  }

  /** What jobs have measured, by importance. */
  showMetrics(metrics: readonly BoardMetric[]) {
    this.#metrics = metrics;
    const known = [...this.#metric.options].map(({ value }) => value);
    const names = metrics.map(({ name }) => name);
    if (names.join('\n') === known.join('\n')) return;
    const chosen = this.metric;
    this.#metric.replaceChildren(...names.map((name) => html('option', { value: name }, name)));
    if (names.includes(chosen)) this.#metric.value = chosen;
    else this.#context.onMetric(this.#measured);
  }

  /** The jobs that the table shows. */
  update(rows: BoardRow[]) {
    const isFirst = this.#rows.length === 0;
    this.#rows = rows;
    if (rows.length > 1 && this.metric !== '') this.element.hidden = false;
    this.#of.hidden &&= rows.every(({ best }) => best === undefined);
    this.#schedule(isFirst ? 0 : refreshMs);
    this.#draw();
  }

  #onMetric(isOther = true) {
    if (isOther) [this.#curves, this.#isMissing] = [undefined, false];
    this.#context.onMetric(this.#measured);
    void this.#refresh();
  }

  #schedule(delay: number) {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#isVisible) void this.#refresh();
    }, delay);
  }

  async #refresh() {
    const asked = this.metric;
    this.#draw();
    if (asked === '') return;
    const curves = await this.#context.curvesOf(asked).catch(() => undefined);
    if (asked !== this.metric) return;
    this.#isMissing = curves === undefined;
    this.#curves = curves ?? this.#curves;
    this.#draw();
    const isSaved = this.#context.resultsOf === undefined;
    if (!isSaved && curves?.isComplete !== true) this.#schedule(curves === undefined ? refreshMs : 500);
  }

  #draw() {
    const measured = this.#measured;
    this.#ordered = bestFirst(this.#rows, measured);
    this.#ranked = this.#ordered.filter((row) => measuredBy(row, measured) !== undefined);
    const best = this.#ranked.slice(0, inColour).map(({ id }) => id);
    const width = this.#curveBox.clientWidth;
    if (width === 0) return;
    const size = { width, height: width < 500 ? 260 : 320 };
    const parallel = parallelChart(this.#ordered, measured, best, size);
    const curves =
      this.#curves === undefined
        ? undefined
        : curveChart(this.#curves, measured, best, new Set(this.#rows.map(({ id }) => id)), size);
    this.#curveTitle.textContent = this.#titleOf();
    this.#curveBox.replaceChildren(curves?.element ?? html('p', {}, this.#absence));
    this.#parallel.hidden = parallel === undefined;
    this.#parallelBox.replaceChildren(...(parallel === undefined ? [] : [parallel.element]));
    this.#charts = [curves, parallel].filter((chart) => chart !== undefined);
    this.#showBest();
    this.#pick(this.#picked);
    void this.#offerModel();
  }

  #titleOf() {
    const jobs = counted(this.#ordered.length, 'job');
    const diverged = divergedText(this.#ordered, this.#measured);
    const reading = this.#curves?.isComplete === false ? '; reading the journals …' : '';
    const best = this.#ranked.length > inColour ? `, the best ${inColour} in colour` : '';
    return `${titleOf(this.#measured)} of ${jobs}${best}${diverged && `; ${diverged}`}${reading}`;
  }

  /** Why there are no curves. */
  get #absence() {
    if (!this.#isMissing) return 'Reading …';
    if (this.#context.resultsOf === undefined)
      return 'This saved page has no curves of this metric, to stay small: updraft dashboard has them all.';
    return 'The curves cannot be read now; trying again …';
  }

  #showBest() {
    const items = this.#ranked.slice(0, inColour).map((row, rank) => {
      const label = [html('b', {}, row.id), labelOf(row).slice(row.id.length)];
      const name = html('button', { type: 'button', class: 'link', 'data-job': row.id }, ...label);
      const swatch = html('span', { class: 'rank', 'data-rank': `${rank}` }, `${rank + 1}`);
      return html(
        'li',
        {},
        swatch,
        name,
        html('strong', {}, shortNumber(measuredBy(row, this.#measured) ?? NaN)),
      );
    });
    show(this.#best, ...items);
    for (const button of this.#best.querySelectorAll('button')) {
      const id = button.dataset.job ?? '';
      button.onclick = () => this.#context.openJob(id);
      button.onfocus = () => this.#pick(id);
      button.onpointermove = (event) => hasMoved(event) && this.#pick(id);
    }
  }

  /** The best job with a valid result, and its files. */
  async #offerModel() {
    const row = this.#ranked.find(({ tone }) => tone === 'good');
    const offered = row === undefined ? '' : `${titleOf(this.#measured)} ${row.id}`;
    if (offered === this.#offered) return;
    this.#offered = offered;
    if (row === undefined) {
      this.#model.replaceChildren();
      return;
    }
    const files = (await this.#context.resultsOf?.(row.id).catch(() => [])) ?? [];
    if (offered !== this.#offered) return;
    const links = downloads(row.id, files.slice(0, 3), this.#context.hrefOf);
    const place = html('code', {}, this.#context.placeOf(row.id));
    this.#model.replaceChildren(
      `Best model, job ${jobLabel(row.id, row.name)}: `,
      ...(links.length === 0 ? [place] : links.flatMap((link) => [link, ' '])),
    );
  }

  #listen(box: HTMLElement) {
    box.addEventListener('pointermove', (event) => hasMoved(event) && this.#pick(this.#under(box, event)));
    box.addEventListener('pointerdown', (event) => this.#pick(this.#under(box, event)));
    box.addEventListener('pointerleave', ({ pointerType }) => pointerType === 'mouse' && this.#pick(''));
    // A finger first names the job; the button of the readout opens it.
    box.addEventListener('click', (event) => {
      const isMouse = event instanceof PointerEvent && event.pointerType === 'mouse';
      if (isMouse && this.#picked !== '') this.#context.openJob(this.#picked);
    });
    box.addEventListener('keydown', (event) => this.#onKey(event));
  }

  #under(box: HTMLElement, { clientX, clientY }: MouseEvent): string {
    const chart = this.#charts.find(({ element }) => element.parentElement === box);
    const { left, top } = chart?.element.getBoundingClientRect() ?? { left: 0, top: 0 };
    return chart?.nearest(clientX - left, clientY - top) ?? '';
  }

  /** Arrows go through the jobs, best first. */
  #onKey(event: KeyboardEvent) {
    const rank = this.#ordered.findIndex(({ id }) => id === this.#picked);
    const last = this.#ordered.length - 1;
    const next: Record<string, number> = {
      ArrowRight: Math.min(rank + 1, last),
      ArrowDown: Math.min(rank + 1, last),
      ArrowLeft: Math.max(rank - 1, 0),
      ArrowUp: Math.max(rank - 1, 0),
      Home: 0,
      End: last,
      Escape: -1,
    };
    if (event.key === 'Enter' && this.#picked !== '') this.#context.openJob(this.#picked);
    const at = next[event.key];
    if (at === undefined) return;
    event.preventDefault();
    this.#pick(this.#ordered[at]?.id ?? '');
  }

  #pick(id: string) {
    this.#picked = id;
    for (const chart of this.#charts) chart.pick(id);
    const rank = this.#ordered.findIndex((row) => row.id === id);
    const row = this.#ordered[rank];
    if (row === undefined) {
      show(
        this.#readout,
        'Point at a line, or use the arrow keys. Only jobs that you find in the table below are drawn.',
      );
      return;
    }
    const number = measuredBy(row, this.#measured);
    const value =
      number === undefined
        ? `ended in ${divergedBy(row, this.#measured)}`
        : `${shortNumber(number)}, ${rank + 1} of ${this.#ranked.length}`;
    show(
      this.#readout,
      html('button', { type: 'button', class: 'link' }, labelOf(row)),
      ` ${titleOf(this.#measured)} ${value}`,
    );
    const button = this.#readout.querySelector('button');
    if (button !== null) button.onclick = () => this.#context.openJob(id);
  }
}

/** A page that scrolls under a resting pointer must not undo what the keyboard picked. */
const hasMoved = ({ movementX, movementY }: PointerEvent) => movementX !== 0 || movementY !== 0;

const chartBox = (id: string, name: string) =>
  html('div', {
    id,
    class: 'chart-box',
    tabindex: '0',
    role: 'group',
    'aria-label': `${name}: the arrow keys go through the jobs, the best first; Enter opens one`,
  });

/** A job that failed may have measured something before. */
const labelOf = ({ id, name, tone }: BoardRow) =>
  `${jobLabel(id, name)}${tone === 'bad' ? ' (no valid result)' : ''}`;

/** Links that save the files of a job's results. */
export const downloads = (id: string, files: readonly ResultFile[], hrefOf: SweepContext['hrefOf']) =>
  files.map(({ name, bytes }) =>
    html('a', { href: hrefOf(id, name), download: '' }, `${name} (${formatSize(bytes)})`),
  );
