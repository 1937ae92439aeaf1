import type { Action, JobDetail, LogPart, ResultFile } from '../page-data.ts';
import { html, prose, show } from '@updraft/view/dom';
import { describeParts, lanesOf } from './pictures.ts';
import type { ActionName } from './server.ts';
import { downloads } from './sweep.ts';

interface JobPanelContext {
  detailOf: (id: string) => Promise<JobDetail | undefined>;
  /** Undefined in a static page, which has no logs. */
  logOf: ((id: string, stream: string) => Promise<LogPart>) | undefined;
  resultsOf: ((id: string) => Promise<ResultFile[]>) | undefined;
  hrefOf: (id: string, file: string) => string;
  /** What it is doing, in one line. */
  nowOf: (id: string) => string;
  /** The chosen metric, if the job has it. */
  curveOf: (id: string) => Promise<Element | undefined>;
  ask: Record<ActionName, (command: string, jobs: string[]) => void>;
  onClose: () => void;
}

/** The chosen job: its explanation, attempts, results, curve and log. */
export class JobPanel {
  readonly element: HTMLElement;
  readonly #context: JobPanelContext;
  /** The job that is shown; empty for none. */
  job = '';
  #title = html('h2', { id: 'job-title', tabindex: '-1' });
  #explanation = html('div', { id: 'explanation' });
  #actions = html('div', { class: 'actions' });
  #now = html('p', { id: 'now' });
  #lanes = html('div', { id: 'lanes', class: 'chart-box' });
  #attempts = html('div');
  #results = html('p', { id: 'results' });
  #curve = html('div', { id: 'curve' });
  #stream = html(
    'select',
    { id: 'stream' },
    html('option', { value: 'out' }, 'stdout'),
    html('option', { value: 'err' }, 'stderr'),
  );
  #log = html('pre', {
    class: 'log',
    id: 'log',
    tabindex: '0',
    role: 'region',
    'aria-label': 'End of the log',
  });

  constructor(context: JobPanelContext) {
    this.#context = context;
    this.#stream.addEventListener('change', () => void this.#readLog());
    const tools = html('div', { class: 'tools' }, html('label', { for: 'stream' }, 'Show'), this.#stream);
    const close = html('button', { type: 'button', click: () => this.#close() }, 'Close');
    this.element = html(
      'section',
      { class: 'panel job', 'aria-labelledby': 'job-title', hidden: '' },
      html('div', { class: 'row' }, this.#title, close),
      this.#now,
      this.#explanation,
      this.#actions,
      html('h3', {}, 'Attempts'),
      this.#lanes,
      this.#attempts,
      this.#results,
      html('h3', {}, 'What it measured'),
      this.#curve,
      html('h3', {}, 'End of the log'),
      context.logOf === undefined ? null : tools,
      this.#log,
    );
  }

  /** Shows a job that the reader chose, and moves the focus there. */
  async open(id: string, label: string) {
    this.#choose(id, label);
    await this.#readDetail();
    // Before reading the log, which may take a while: nothing must move when the reader reaches for a button.
    this.#title.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: 'nearest' });
    await this.#readLog();
  }

  async show(id: string, label: string) {
    this.#choose(id, label);
    await this.refresh();
  }

  #choose(id: string, label: string) {
    this.job = id;
    this.#results.replaceChildren();
    this.element.hidden = false;
    this.#title.textContent = `Job ${label}`;
    this.#log.textContent = '';
  }

  /** Reads again what may have changed. */
  async refresh() {
    await this.#readDetail();
    await this.#readLog();
  }

  async #readDetail() {
    const asked = this.job;
    if (asked === '') return;
    const detail = await this.#context.detailOf(asked).catch(() => undefined);
    if (asked !== this.job) return;
    if (detail === undefined) show(this.#explanation, html('p', {}, 'This page has no details of this job.'));
    else {
      this.#showDetail(detail);
      await this.#readResults(asked);
      await this.showCurve();
    }
  }

  async #readResults(asked: string) {
    const files = (await this.#context.resultsOf?.(asked).catch(() => [])) ?? [];
    if (asked !== this.job) return;
    const links = downloads(asked, files, this.#context.hrefOf).flatMap((link) => [' ', link]);
    show(this.#results, ...(links.length === 0 ? [] : ['Results:', ...links]));
  }

  /** As the reader wants to see curves now. */
  async showCurve() {
    const asked = this.job;
    if (asked === '') return;
    const curve = await this.#context.curveOf(asked).catch(() => undefined);
    if (asked === this.job) show(this.#curve, curve ?? html('p', {}, 'It has not reported a metric yet.'));
  }

  #close() {
    this.job = '';
    this.element.hidden = true;
    this.#context.onClose();
  }

  #showDetail(detail: JobDetail) {
    const { id, explanation, attempts, lanes, commands, stop, retry } = detail;
    this.#now.textContent = this.#context.nowOf(id);
    show(this.#lanes, lanesOf(lanes));
    show(this.#explanation, ...explanationOf(explanation));
    show(this.#attempts, html('ol', { class: 'attempts' }, ...attempts.map(attemptOf)));
    const list = commands.map(({ what, command }) => html('li', {}, `${what}: `, html('code', {}, command)));
    show(
      this.#actions,
      this.#button('stop', stop, [id], 'danger', `Stop job ${id} …`),
      this.#button('retry', retry, [id], 'act', `Try job ${id} again …`),
      html('ul', { class: 'commands' }, ...list),
    );
  }

  #button(action: ActionName, how: Action | null, jobs: string[], style: string, text: string) {
    if (how === null) return null;
    const click = () => this.#context.ask[action](how.command, jobs);
    return html('button', { type: 'button', class: style, click }, text);
  }

  async #readLog() {
    const asked = this.job;
    if (asked === '') return;
    if (this.#context.logOf === undefined) {
      this.#log.textContent = 'The logs are not part of this file; the commands above show them.';
      return;
    }
    const part = await this.#context.logOf(asked, this.#stream.value).catch(() => undefined);
    if (asked !== this.job) return;
    const before = part !== undefined && part.from > 0 ? `… ${part.from} bytes not shown\n` : '';
    const text = before + (part?.text ?? '') || 'Nothing has been printed yet.';
    if (this.#log.textContent === text) return;
    const { scrollTop, clientHeight, scrollHeight } = this.#log;
    this.#log.textContent = text;
    // A reader who has scrolled back stays there.
    if (scrollTop + clientHeight >= scrollHeight - 4) this.#log.scrollTop = this.#log.scrollHeight;
  }
}

/** The same parts as `updraft why`. */
function explanationOf({ headline, because, doing, advice }: JobDetail['explanation']) {
  const paragraphs = (sentences: readonly string[]) =>
    sentences.map((sentence) => html('p', {}, ...prose(sentence)));
  const part = (title: string, sentences: readonly string[]) =>
    sentences.length === 0 ? [] : [html('h3', {}, title), ...paragraphs(sentences)];
  return [
    html('p', {}, html('strong', {}, headline)),
    ...paragraphs(because),
    ...part('What is being done', doing),
    ...part('What you can do', advice),
  ];
}

const attemptOf = ({
  attempt,
  outcome,
  why,
  where,
  fault,
  fix,
  notes,
  parts,
}: JobDetail['attempts'][number]) =>
  html(
    'li',
    { value: attempt },
    html('strong', {}, outcome),
    where === '' ? null : ` at ${where}`,
    why === '' ? null : ` (${why})`,
    html('span', { class: 'what' }, describeParts(parts) || 'just started'),
    fault === '' ? null : html('span', { class: 'said' }, ...prose(fault)),
    fix === '' ? null : html('span', { class: 'fix' }, ...prose(`What helps: ${fix}`)),
    ...notes.map((note) => html('span', { class: 'remark' }, ...prose(note))),
  );
