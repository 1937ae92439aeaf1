import { printable } from '@updraft/base';
import { html, prose } from '@updraft/view/dom';
import { type GroupingName, groupingNames, groupings } from '@updraft/account/report';
import { type ExplainedGroup, groupAccount } from '@updraft/account/why';
import type { Document as Page } from '@updraft/view/document';
import { documentHtml } from '@updraft/view/html';
import type { ChosenPool } from './messages.ts';

type OnJob = (word: string) => void;

/** Tables whose rows begin with a job. */
const jobTables = ['suspicious', 'waste', 'slowest', 'jobs'];

/** The report's own page, with a button for each job. Its markup is escaped, and no policy lets it run anything. */
export function reportView(page: string, onJob: OnJob): Node[] {
  const parsed = parsedPage(page);
  for (const id of jobTables)
    for (const cell of parsed.querySelectorAll(`#${id} tbody th`)) {
      const name = cell.textContent;
      cell.replaceChildren(jobButton(name, onJob));
    }
  const parts = [...parsed.querySelectorAll('main > *')];
  const summary = parts.findIndex(({ id }) => id === 'summary');
  const links = [...parsed.querySelectorAll('header nav')];
  return [...parts.slice(0, summary), ...links, ...parts.slice(summary)].map((one) =>
    document.adoptNode(one),
  );
}

// Without its head, whose style this page has already.
const parsedPage = (page: string): Document =>
  new DOMParser().parseFromString(page.slice(page.indexOf('<body>')), 'text/html');

const grouped = 'grouped';

/** A choice of what `report --by` can group by. */
export function byView(onBy: (by: GroupingName) => void): HTMLElement {
  const titles = groupingNames.map((name): [string, string] => [name, groupings[name].title]);
  const choice = choiceOf('by', [['', '…'], ...titles], '', (name) => onBy(name as GroupingName));
  return html(
    'section',
    { id: 'by-jobs', 'aria-labelledby': 'by-label' },
    html('p', { class: 'find' }, html('label', { id: 'by-label', for: 'by' }, 'Group the jobs by'), choice),
    html('div', { id: grouped, 'aria-live': 'polite' }),
  );
}

/** What `report --by` prints, in place of what was grouped before. */
export function showGrouped(page: string, command: string): void {
  const parts = [...parsedPage(page).querySelectorAll('main > *')].map((one) => document.adoptNode(one));
  document.getElementById(grouped)?.replaceChildren(...parts, commandView(command));
}

function choiceOf(
  id: string,
  options: readonly (readonly [value: string, text: string])[],
  chosen: string,
  onChoice: (value: string) => void,
): HTMLSelectElement {
  const shown = options.map(([value, text]) => html('option', { value }, text));
  const choice = html('select', { id }, ...shown);
  choice.value = chosen;
  choice.addEventListener('change', () => {
    if (choice.value !== '') onChoice(choice.value);
  });
  return choice;
}

const jobButton = (name: string, onJob: OnJob): HTMLButtonElement =>
  html('button', { type: 'button', class: 'job', click: () => onJob(name) }, printable(name));

/** More jobs of a group are listed on request. */
const maxListed = 8;

/** What `why` prints for all jobs: those that need attention first. */
export function groupsView(groups: readonly ExplainedGroup[], onJob: OnJob): HTMLElement {
  const word = html('input', { id: 'job', type: 'search', placeholder: '12.3', size: '16' });
  const find = html(
    'form',
    { class: 'find' },
    html('label', { for: 'job' }, 'Explain a job'),
    word,
    html('button', { type: 'submit' }, 'Explain it'),
  );
  find.addEventListener('submit', (event) => {
    event.preventDefault();
    if (word.value.trim() !== '') onJob(word.value.trim());
  });
  return html(
    'section',
    { id: 'causes', 'aria-labelledby': 'causes-heading' },
    html('h2', { id: 'causes-heading' }, 'Why'),
    ...groups.map((group) => groupView(group, onJob)),
    find,
  );
}

function groupView(group: ExplainedGroup, onJob: OnJob): HTMLElement {
  const { heading, why, fix } = groupAccount(group);
  return html(
    'div',
    { class: 'group' },
    html('h3', {}, heading),
    ...sentences([...why, ...fix]),
    jobsView(group.jobs, onJob),
  );
}

function jobsView(jobs: readonly string[], onJob: OnJob): HTMLElement {
  const list = html('div', { class: 'jobs-of' });
  const add = (names: readonly string[]) => list.append(...names.map((name) => jobButton(name, onJob)));
  add(jobs.slice(0, maxListed));
  const left = jobs.length - maxListed;
  if (left > 0) {
    const more = html('button', { type: 'button', class: 'job' }, `${left} more`);
    more.addEventListener('click', () => {
      more.remove();
      add(jobs.slice(maxListed));
    });
    list.append(more);
  }
  return list;
}

const sentences = (texts: readonly string[]): HTMLElement[] =>
  texts.map((text) => html('p', {}, ...prose(text)));

/** What `why` prints for one job, or for each that has the name. */
export const whyView = (pages: readonly Page[], command: string): HTMLElement[] => [
  ...pages.flatMap(pageView),
  commandView(command),
];

/** A page's own markup, which is escaped. */
const pageView = (page: Page): HTMLElement[] => {
  const { body } = new DOMParser().parseFromString(documentHtml(page), 'text/html');
  return [...body.children].map((one) => document.adoptNode(one) as HTMLElement);
};

const pools: [ChosenPool, string][] = [
  ['htcondor', 'any HTCondor pool'],
  ['ospool', 'the OSPool'],
  ['chtc', 'CHTC'],
];

/** What `adopt` prints for each file, and the choice of the pool whose own lines count. */
export const findingsView = (
  adopted: readonly Page[],
  pool: ChosenPool,
  onPool: (pool: ChosenPool) => void,
): HTMLElement =>
  html(
    'section',
    { id: 'findings', 'aria-label': 'Findings' },
    html(
      'p',
      { class: 'find' },
      html('label', { for: 'pool' }, 'Submitted to'),
      choiceOf('pool', pools, pool, (name) => onPool(name as ChosenPool)),
    ),
    ...adopted.map((page) => html('section', {}, ...pageView(page))),
  );

/** What was not read, to be opened. */
export const namesView = (title: string, names: readonly string[]): HTMLElement =>
  html(
    'details',
    {},
    html('summary', {}, `${title}: ${names.length}`),
    html('ul', {}, ...names.map((name) => html('li', {}, name))),
  );

export const faultView = (message: string, fix: string): HTMLElement =>
  html(
    'div',
    { class: 'fault', role: 'alert' },
    ...sentences([message, ...(fix === '' ? [] : [`fix: ${fix}`])]),
  );

export const commandView = (command: string): HTMLElement =>
  html('p', { class: 'same' }, 'The same on the command line: ', html('code', {}, command));
