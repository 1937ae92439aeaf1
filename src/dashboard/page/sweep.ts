import { counted, formatSize } from '@updraft/base';
import { jobLabel } from '@updraft/account/parameters';
import { type Line, shortNumber } from '@updraft/view/charts';
import { fromMarkup, html, show, tool } from '@updraft/view/dom';
import { formatSeconds } from '@updraft/view/format';
import type { BoardMetric, BoardRow, CurveX, MetricCurves, ResultFile } from '../page-data.ts';
import { rankedRepetitions, type Repetitions, spreadOf } from '../repetitions.ts';
import {
  bestFirst,
  directionOf,
  divergedBy,
  divergedText,
  type Measured,
  measuredBy,
  titleOf,
} from '../row-order.ts';
import { curveChart, inColour } from '../curve-chart.ts';
import { parameterChoices, parameterTable } from './parameter-table.ts';
import { pickable, type PickableChart } from './pickable.ts';

interface SweepContext {
  /** Of one job, if there is an id. */
  curvesOf: (metric: string, id?: string) => Promise<MetricCurves | undefined>;
  /** Undefined in a static page, which has no files. */
  resultsOf: ((id: string) => Promise<ResultFile[]>) | undefined;
  hrefOf: (id: string, file: string) => string;
  openJob: (id: string) => void;
  onMetric: (measured: Measured) => void;
  /** The reader wants to see curves in another way. */
  onView: () => void;
  /** Where the job's results are, for the reader. */
  placeOf: (id: string) => string;
}

/** Curves are read and drawn again at most this often. */
const refreshMs = 5000;

/** What the jobs measured: curves over each other, parameters and their effect, and the best of them. */
export class Sweep {
  readonly element: HTMLElement;
  readonly #context: SweepContext;
  #rows: BoardRow[] = [];
  /** Best first; those that diverged have no rank, and come last. */
  #ordered: Repetitions[] = [];
  #ranked: Repetitions[] = [];
  #curves: MetricCurves | undefined;
  /** They were asked for in vain. */
  #isMissing = false;
  #chart: PickableChart | undefined;
  #lines: readonly Line[] = [];
  #picked = '';
  /** The point of the picked line that the reader means; the last if none. */
  #point: number | undefined;
  #offered = '';
  #isVisible = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #metrics: readonly BoardMetric[] = [];
  #choices: ReturnType<typeof parameterChoices> = [];
  #metric = html('select', { id: 'metric' });
  #of = html(
    'select',
    { id: 'of', hidden: '', 'aria-label': 'Which value of the metric' },
    html('option', { value: 'last' }, 'last value'),
    html('option', { value: 'best' }, 'best value'),
  );
  #across = html('select', { id: 'across' });
  #log = html('input', { type: 'checkbox', id: 'logarithmic' });
  #smoothing = html('input', { type: 'range', id: 'smoothing', min: 0, max: 0.95, step: 0.05, value: 0 });
  #grouped = html('input', { type: 'checkbox', id: 'grouped', checked: '' });
  #groupedTool = tool('Repetitions as mean and range', this.#grouped);
  #by = html('select', { id: 'by' });
  #readout = html('p', { class: 'readout', role: 'status' });
  #curveBox = html('div', {
    id: 'curves',
    class: 'chart-box',
    tabindex: '0',
    role: 'group',
    'aria-label':
      'Curves: up and down go through them, the best first; left and right along one; Enter opens a job',
  });
  #map = html('div', { id: 'parameters', tabindex: '0' });
  #mapFigure = html(
    'figure',
    { hidden: '' },
    html('figcaption', {}, tool('Parameters', this.#by)),
    this.#map,
  );
  #curveTitle = html('figcaption');
  #best = html('ol', { class: 'best' });
  #model = html('p', { class: 'model' });

  constructor(context: SweepContext) {
    this.#context = context;
    this.#metric.addEventListener('change', () => this.#onMetric());
    this.#of.addEventListener('change', () => this.#onMetric(false));
    this.#groupedTool.hidden = true;
    for (const input of [this.#across, this.#log, this.#smoothing, this.#grouped, this.#by])
      input.addEventListener('input', () => {
        this.#draw();
        this.#context.onView();
      });
    this.element = html(
      'section',
      { class: 'panel sweep', 'aria-labelledby': 'sweep-title', hidden: '' },
      html('h2', { id: 'sweep-title' }, 'What the jobs measured'),
      html('div', { class: 'tools' }, tool('Metric', this.#metric), this.#of, this.#model),
      html(
        'div',
        { class: 'charts' },
        html(
          'figure',
          {},
          this.#curveTitle,
          this.#curveBox,
          html(
            'div',
            { class: 'tools' },
            tool('Over', this.#across),
            tool('Logarithmic', this.#log),
            tool('Smoothing', this.#smoothing),
            this.#groupedTool,
          ),
        ),
        this.#mapFigure,
      ),
      this.#readout,
      this.#best,
    );
    this.#listen(this.#curveBox);
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
    const chosen = this.metric;
    fillSelect(
      this.#metric,
      metrics.map(({ name }) => name),
    );
    if (this.metric !== chosen) this.#context.onMetric(this.#measured);
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
    this.#context.onView();
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
    this.#ordered = rankedRepetitions(this.#rows, measured, this.#grouped.checked);
    this.#groupedTool.hidden &&= this.#ordered.every(({ members }) => members.length === 1);
    this.#ranked = this.#ordered.filter(({ row }) => measuredBy(row, measured) !== undefined);
    const width = this.#curveBox.clientWidth;
    if (width === 0) return;
    this.#curveTitle.textContent = this.#titleOf();
    this.#drawCurves(measured, { width, height: width < 500 ? 280 : 340 });
    this.#drawMap(measured);
    this.#showBest();
    this.#pick(this.#picked, this.#point);
    void this.#offerModel();
  }

  #drawCurves(measured: Measured, size: { width: number; height: number }) {
    this.#chart = undefined;
    if (this.#curves === undefined) {
      this.#curveBox.replaceChildren(html('p', {}, this.#absence));
      return;
    }
    fillSelect(this.#across, this.#curves.units);
    const coloured = Math.min(inColour, this.#ranked.length);
    const { drawn, lines } = curveChart(this.#curves, measured, this.#ordered, coloured, this.#view, size);
    this.#lines = lines;
    this.#chart = pickable(drawn, coloured);
    this.#curveBox.replaceChildren(this.#chart.element);
  }

  get #view() {
    const [unit, isLog] = [this.#across.value as CurveX, this.#log.checked];
    return { unit, isLog, smoothing: this.#smoothing.valueAsNumber };
  }

  /** The curve of one job over all attempts. */
  async curveOf(id: string): Promise<Element | undefined> {
    const curves = await this.#context.curvesOf(this.metric, id);
    if (curves?.curves[id] === undefined) return undefined;
    const job = { row: { id }, members: [{ id }] };
    const size = { width: 640, height: 240 };
    return fromMarkup(curveChart(curves, this.#measured, [job], 1, this.#view, size).drawn.svg);
  }

  #drawMap(measured: Measured) {
    this.#choices = parameterChoices(this.#rows);
    this.#mapFigure.hidden = this.#choices.length === 0 || this.#ranked.length === 0;
    if (this.#mapFigure.hidden) return;
    fillSelect(
      this.#by,
      this.#choices.map((names) => names.map(({ short }) => short).join(' × ')),
    );
    const chosen = this.#choices[this.#by.selectedIndex] ?? [];
    this.#map.replaceChildren(
      parameterTable(this.#rows, measured, chosen),
      html('p', { class: 'what' }, `Mean ${directionOf(measured)}; the better, the darker.`),
    );
  }

  #titleOf() {
    const jobs = counted(
      this.#ordered.reduce((sum, { members }) => sum + members.length, 0),
      'job',
    );
    const diverged = divergedText(this.#rows, this.#measured);
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
    const items = this.#ranked.slice(0, inColour).map((group, rank) => {
      const { id } = group.row;
      const name = html('button', { type: 'button', class: 'link', 'data-job': id }, ...labelOf(group));
      const swatch = html('span', { class: 'rank', 'data-rank': `${rank}` }, `${rank + 1}`);
      return html('li', {}, swatch, name, html('strong', {}, this.#valueOf(group)));
    });
    show(this.#best, ...items);
    for (const button of this.#best.querySelectorAll('button')) {
      const id = button.dataset.job ?? '';
      button.onclick = () => this.#open(id);
      button.onfocus = () => this.#pick(id);
      button.onpointermove = (event) => hasMoved(event) && this.#pick(id);
    }
  }

  #valueOf({ row, members }: Repetitions): string {
    const value = measuredBy(row, this.#measured);
    if (value === undefined) return `ended in ${divergedBy(row, this.#measured)}`;
    const spread = spreadOf(members, this.#measured);
    return spread === '' ? shortNumber(value) : `${shortNumber(value)} (${spread})`;
  }

  /** Of repetitions, the best. */
  #open(id: string) {
    const group = this.#ordered.find(({ row }) => row.id === id);
    const [best] = bestFirst(group?.members ?? [], this.#measured);
    this.#context.openJob(best?.id ?? id);
  }

  /** The best job with a valid result, and its files. */
  async #offerModel() {
    const row = bestFirst(this.#rows, this.#measured).find((one) => one.tone === 'good');
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
    const onPointer = (event: MouseEvent) => {
      const { left, top } = box.getBoundingClientRect();
      const [id, point] = this.#chart?.nearest(event.clientX - left, event.clientY - top) ?? ['', undefined];
      this.#pick(id, point);
    };
    box.addEventListener('pointermove', (event) => hasMoved(event) && onPointer(event));
    box.addEventListener('pointerdown', onPointer);
    box.addEventListener('pointerleave', ({ pointerType }) => pointerType === 'mouse' && this.#pick(''));
    // A finger first names the job; the button of the readout opens it.
    box.addEventListener('click', (event) => {
      const isMouse = event instanceof PointerEvent && event.pointerType === 'mouse';
      if (isMouse && this.#picked !== '') this.#open(this.#picked);
    });
    box.addEventListener('keydown', (event) => this.#onKey(event));
  }

  /** Up and down go through the lines, best first, left and right along one. */
  #onKey(event: KeyboardEvent) {
    const rank = this.#ordered.findIndex(({ row }) => row.id === this.#picked);
    const last = this.#ordered.length - 1;
    if (event.key === 'Enter' && this.#picked !== '') this.#open(this.#picked);
    const end = this.#points(this.#picked).length / 2 - 1;
    const point = this.#point ?? end;
    const lines: Record<string, number> = {
      ArrowDown: Math.min(rank + 1, last),
      ArrowUp: Math.max(rank - 1, 0),
      Home: 0,
      End: last,
      Escape: -1,
    };
    const points: Record<string, number> = {
      ArrowLeft: Math.max(0, point - 1),
      ArrowRight: Math.min(end, point + 1),
    };
    const [to, along] = [lines[event.key], points[event.key]];
    if (to === undefined && along === undefined) return;
    event.preventDefault();
    if (to === undefined) this.#pick(this.#picked, along);
    else this.#pick(this.#ordered[to]?.row.id ?? '');
  }

  #points(id: string): readonly number[] {
    return this.#lines.find((line) => line.id === id)?.points ?? [];
  }

  /** Names a line and its value at a point, or at its end. */
  #pick(id: string, point?: number) {
    [this.#picked, this.#point] = [id, point];
    const rank = this.#ordered.findIndex(({ row }) => row.id === id);
    const group = this.#ordered[rank];
    this.#chart?.pick(id, point);
    if (group === undefined) {
      show(
        this.#readout,
        'Point at a line, or use the arrow keys. Only jobs that you find in the table below are drawn.',
      );
      return;
    }
    const place =
      measuredBy(group.row, this.#measured) === undefined ? '' : `, ${rank + 1} of ${this.#ranked.length}`;
    show(
      this.#readout,
      html('button', { type: 'button', class: 'link' }, ...labelOf(group)),
      ` ${titleOf(this.#measured)} ${this.#valueOf(group)}${place}${this.#valueAt(id, point)}`,
    );
    const button = this.#readout.querySelector('button');
    if (button !== null) button.onclick = () => this.#open(id);
  }

  #valueAt(id: string, point = NaN): string {
    const { points = [], band } = this.#lines.find((line) => line.id === id) ?? {};
    const [x, y] = points.slice(2 * point, 2 * point + 2);
    if (x === undefined || y === undefined) return '';
    const edges = [band?.[2 * point + 1], band?.at(-1 - 2 * point)];
    const spread =
      band === undefined ? '' : ` (${edges.map((edge) => shortNumber(edge ?? NaN)).join(' to ')})`;
    const unit = this.#across.value;
    return `; ${shortNumber(y)}${spread} at ${unit === 'time' ? formatSeconds(x) : `${unit} ${shortNumber(x)}`}`;
  }
}

/** A page that scrolls under a resting pointer must not undo what the keyboard picked. */
const hasMoved = ({ movementX, movementY }: PointerEvent) => movementX !== 0 || movementY !== 0;

/** A job that failed may have measured something before. */
const labelOf = ({ row: { id, name = '', tone }, members }: Repetitions) => {
  const lack = tone === 'bad' ? ' (no valid result)' : '';
  return members.length === 1
    ? [html('b', {}, id), jobLabel(id, name).slice(id.length) + lack]
    : [html('b', {}, name === '' ? 'all' : name), ` × ${members.length}${lack}`];
};

/** Keeps what is chosen, if it is still there. */
function fillSelect(select: HTMLSelectElement, values: readonly string[]) {
  if ([...select.options].map(({ value }) => value).join('\n') === values.join('\n')) return;
  const chosen = select.value;
  select.replaceChildren(...values.map((value) => html('option', { value }, value)));
  if (values.includes(chosen)) select.value = chosen;
}

/** Links that save the files of a job's results. */
export const downloads = (id: string, files: readonly ResultFile[], hrefOf: SweepContext['hrefOf']) =>
  files.map(({ name, bytes }) =>
    html('a', { href: hrefOf(id, name), download: '' }, `${name} (${formatSize(bytes)})`),
  );
