import { counted } from '@updraft/base';
import type { Board, Problem } from '../page-data.ts';
import { html, prose, show } from '@updraft/view/dom';
import { symbolOf } from './pictures.ts';

/** The four questions of a reader with ten seconds, with their answers. */
export function questions(acts: { openJob: (id: string) => void; labelOf: (id: string) => string }) {
  const verdict = html('div', { class: 'answer', 'aria-live': 'polite', id: 'verdict' });
  const wrong = html('div', { class: 'answer', id: 'wrong' });
  const doing = html('div', { class: 'answer', id: 'doing' });
  const wasted = html('div', { class: 'answer', id: 'wasted' });
  const element = html(
    'section',
    { class: 'questions', 'aria-label': 'The run at a glance' },
    card('Is it going well?', verdict),
    card('What is wrong now?', wrong),
    card('What is being done about it?', doing),
    card('What has been wasted so far?', wasted),
  );
  const update = (board: Board) => {
    element.dataset.tone = board.verdict.tone;
    show(verdict, ...verdictOf(board));
    show(wrong, ...wrongOf(board, acts.labelOf));
    for (const button of wrong.querySelectorAll('button'))
      button.onclick = () => acts.openJob(button.dataset.job ?? '');
    show(doing, ...doingOf(board));
    show(wasted, ...wastedOf(board));
  };
  return { element, update };
}

const card = (title: string, answer: HTMLElement) =>
  html('article', { class: 'card' }, html('h2', {}, title), answer);

function verdictOf({ verdict, counts, jobs }: Board) {
  const bar = html('div', { class: 'counts-bar', 'aria-hidden': 'true' });
  for (const count of counts) {
    const part = html('span', { 'data-tone': count.tone });
    part.style.flexGrow = String(count.jobs);
    bar.append(part);
  }
  return [
    html('p', { class: 'headline', 'data-tone': verdict.tone }, symbolOf(verdict.tone), verdict.headline),
    html('p', {}, `${verdict.detail}.`),
    jobs > 0 ? bar : null,
    html(
      'ul',
      { class: 'counts' },
      ...counts.map(({ label, jobs: count, tone }) =>
        html('li', { 'data-tone': tone }, symbolOf(tone), `${count.toLocaleString('en')} ${label}`),
      ),
    ),
  ];
}

function wrongOf({ wrong, trouble, account, damage }: Board, labelOf: (id: string) => string) {
  const helps = account && html('span', { class: 'fix' }, ...prose(`What helps: ${account.fix}`));
  const notes = [
    trouble === null ? null : html('p', { class: 'alarm' }, `The run cannot be read now: ${trouble}`),
    account && html('p', { class: 'alarm' }, ...prose(account.message), helps),
    damage === null ? null : html('p', {}, damage),
  ];
  if (wrong.length === 0)
    return [...notes, trouble === null && account === null ? html('p', {}, 'Nothing.') : null];
  return [
    ...notes,
    html('ul', { class: 'problems' }, ...wrong.slice(0, 6).map((problem) => problemOf(problem, labelOf))),
    rest(wrong.length - 6),
  ];
}

function problemOf(problem: Problem, labelOf: (id: string) => string) {
  const { cause, what, jobs, examples, message, fix, needsYou } = problem;
  const buttons = examples.flatMap((id) => [
    html(
      'button',
      { type: 'button', class: 'link', 'data-job': id, 'aria-label': `Show job ${labelOf(id)}` },
      labelOf(id),
    ),
    ' ',
  ]);
  return html(
    'li',
    {},
    html('strong', {}, `${counted(jobs, 'job')}: ${cause}`),
    needsYou ? ' ' : null,
    needsYou ? html('span', { class: 'badge' }, 'needs you') : null,
    html('span', { class: 'what' }, ...prose(` ${what}`)),
    message === '' ? null : html('span', { class: 'said' }, ...prose(message)),
    fix === '' ? null : html('span', { class: 'fix' }, ...prose(`What helps: ${fix}`)),
    html('span', { class: 'examples' }, 'Show ', ...buttons, jobs > examples.length ? '…' : ''),
  );
}

const rest = (count: number) => (count > 0 ? html('p', {}, `And ${counted(count, 'other cause')}.`) : null);

function doingOf({ doing, wrong, endedAt }: Board) {
  const needing = wrong.filter(({ needsYou }) => needsYou).reduce((sum, { jobs }) => sum + jobs, 0);
  const items = doing
    .slice(0, 6)
    .map(({ what, jobs }) => html('li', {}, ...prose(`${counted(jobs, 'job')}: ${what}`)));
  if (needing > 0)
    items.push(html('li', {}, `${counted(needing, 'job')}: nothing happens until you act; see what helps`));
  if (items.length === 0)
    return [html('p', {}, endedAt === null ? 'Nothing needs doing.' : 'Nothing: the run has ended.')];
  return [html('ul', {}, ...items), rest(doing.length - 6)];
}

const wastedOf = ({ wasted: { headline, detail, verdict } }: Board) => [
  html('p', { class: 'headline' }, headline),
  html('p', {}, detail),
  verdict === '' ? null : html('p', {}, ...prose(verdict)),
];
