import { firstFew } from '@updraft/base';
import { html } from '@updraft/view/dom';
import { isEventLog } from '@updraft/htcondor/eventlog';
import type { GroupingName } from '@updraft/account/report';
import { chosenFiles, droppedFiles, type FoundFiles } from './dropped-files.ts';
import type { DroppedFile, PageAnswer, PageRequest, ChosenPool, Target } from './messages.ts';
import {
  byView,
  commandView,
  faultView,
  findingsView,
  groupsView,
  namesView,
  reportView,
  showGrouped,
  whyView,
} from './views.ts';

const part = (id: string): HTMLElement => document.getElementById(id) ?? document.body;
const [title, result, doing] = [part('title'), part('result'), part('doing')];
const share = part('share') as HTMLProgressElement;
const dialog = part('why') as HTMLDialogElement;
const reason = part('reason') as HTMLTextAreaElement;
const inputs = [part('files'), part('folder')] as HTMLInputElement[];

const workerUrl = URL.createObjectURL(new Blob([part('worker').textContent], { type: 'text/javascript' }));
let worker = startWorker();
const ignoredTitle = 'Not read: no event log, submit file or DAG, nor needed to check one';
const packedMessage = 'not read, because packed: ';
const packedFix =
  'unpack first (`xz -dk`, `bzip2 -dk`, `zstd -dk`, `gunzip -k`, `unzip`), then drop everything again';
const limits = JSON.parse(part('limits').textContent) as Record<ChosenPool, Target['limits']>;
/** The pool that submit files are for. */
let pool: ChosenPool = 'htcondor';
const target = (): Target => ({ pool, limits: limits[pool] });
/** Counts what was asked for, so that what is found too late is ignored. */
let turn = 0;
/** The report's own page, as `report --html` writes it. */
let saved: { name: string; page: string } | undefined;

function startWorker(): Worker {
  const started = new Worker(workerUrl);
  started.addEventListener('message', ({ data }: MessageEvent<PageAnswer>) => take(data));
  started.addEventListener('error', (event) => {
    event.preventDefault();
    take({ is: 'fault', message: `this page failed: ${event.message}`, fix: 'try it on the command line' });
  });
  return started;
}

/** Whatever it is doing, and all it remembers, is dropped. */
function cancel(): void {
  worker.terminate();
  worker = startWorker();
  turn += 1;
  restart();
}

function restart(): void {
  saved = undefined;
  result.replaceChildren();
  dialog.close();
  for (const input of [...inputs, reason]) input.value = '';
  entitle('Updraft', noTitle);
  show('start');
  part('choose').focus();
}

const noTitle = document.title;

/** Says what is shown: in the heading, and in the window's title. */
function entitle(heading: string, shown = `${heading} · Updraft`): void {
  title.textContent = heading;
  document.title = shown;
}

function ask(request: PageRequest): void {
  worker.postMessage(request);
}

/** Shows that something is being done, instead of whatever was shown. */
function begin(): void {
  cancel();
  doing.textContent = 'Reading …';
  share.value = 0;
  show('progress');
  part('cancel').focus();
}

function readFiles({ files, folders, unread, isCut }: FoundFiles): void {
  begin();
  if (isCut) result.append(faultView(`only the first ${files.length} files were looked at`, ''));
  if (unread.length > 0) result.append(namesView('Not read, because the browser could not open it', unread));
  const isWhole = !isCut && unread.length === 0;
  if (files.length > 0)
    ask({ ask: 'files', files, folders: isWhole ? folders : undefined, target: target() });
  else take({ is: 'fault', message: 'nothing to read', fix: 'choose files, or the folder, with a button' });
}

function show(shown: 'start' | 'progress' | 'result'): void {
  for (const id of ['start', 'progress', 'result']) part(id).hidden = id !== shown;
  part('lead').hidden = shown === 'result';
  part('actions').hidden = shown !== 'result';
  part('save').hidden = saved === undefined;
}

/** Takes what the worker has found, as it comes. */
function take(answer: PageAnswer): void {
  switch (answer.is) {
    case 'progress':
      // What has not changed is not read aloud again.
      if (doing.textContent !== answer.doing) doing.textContent = answer.doing;
      share.value = answer.share;
      break;
    case 'report':
      saved = answer;
      entitle(answer.title);
      result.append(...reportView(answer.page, askWhy));
      result.querySelector('#summary')?.before(byView(askBy));
      break;
    case 'groups': {
      const [view, report] = [groupsView(answer.groups, askWhy), result.querySelector('#by-jobs')];
      if (report !== null) report.before(view);
      else {
        entitle(`Why: ${answer.name}`);
        result.append(view);
      }
      break;
    }
    case 'grouped':
      showGrouped(answer.page, answer.command);
      break;
    case 'findings':
      showFindings(answer);
      break;
    case 'ignored':
      if (answer.packed.length > 0)
        result.prepend(faultView(packedMessage + firstFew(answer.packed, 8), packedFix));
      if (answer.names.length > 0) result.append(namesView(ignoredTitle, answer.names));
      break;
    case 'why':
      showWhy(whyView(answer.pages, answer.command));
      break;
    case 'no-job':
      showWhy([faultView(answer.message, '')]);
      break;
    case 'fault':
      if (dialog.open) part('explanation').prepend(faultView(answer.message, answer.fix));
      else {
        result.append(faultView(answer.message, answer.fix));
        finish('');
      }
      break;
    case 'done':
      finish(answer.command);
  }
}

function finish(command: string): void {
  if (command !== '') result.prepend(commandView(command));
  show('result');
  scrollTo({ top: 0 });
  title.focus();
}

function showFindings({ name, adopted, pool: chosen }: PageAnswer & { is: 'findings' }): void {
  const view = findingsView(adopted, chosen, (one) => {
    pool = one;
    ask({ ask: 'pool', target: target() });
  });
  const before = result.querySelector('#findings');
  if (before === null) {
    if (saved === undefined) entitle(`What to fix: ${name}`);
    else result.querySelector('nav')?.append(html('a', { href: '#findings' }, 'What to fix'));
    result.append(view);
  } else {
    before.replaceWith(view);
    part('pool').focus();
  }
}

const askBy = (by: GroupingName): void => ask({ ask: 'by', by });
const askWhy = (word: string): void => ask({ ask: 'job', word });

function showWhy(content: HTMLElement[]): void {
  part('explanation').replaceChildren(...content);
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

/** The file that `report --html` writes. */
function save(): void {
  if (saved === undefined) return;
  const url = URL.createObjectURL(new Blob([saved.page], { type: 'text/html' }));
  html('a', { href: url, download: `${saved.name.replaceAll(/[^\w.-]+/g, '-')}.report.html` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** A log of our own, compressed. */
function sampleFile(): DroppedFile {
  const bytes = Uint8Array.from(atob(part('sample-log').textContent), (mark) => mark.charCodeAt(0));
  return { name: 'osg-100.log.gz', blob: new Blob([bytes]), writtenAt: 0 };
}

const pastedFile = (text: string): DroppedFile => ({
  name: 'pasted.log',
  blob: new Blob([text]),
  writtenAt: Date.now(),
});

const on = (id: string, event: string, act: () => void): void => part(id).addEventListener(event, act);
on('choose', 'click', () => inputs[0]?.click());
on('choose-folder', 'click', () => inputs[1]?.click());
on('sample', 'click', () => readFiles({ files: [sampleFile()], folders: [], unread: [], isCut: false }));
on('cancel', 'click', cancel);
on('restart', 'click', cancel);
part('progress').addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') cancel();
});
on('save', 'click', save);
for (const input of inputs) input.addEventListener('change', () => readFiles(chosenFiles(input.files)));
part('paste').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = reason.value;
  if (isEventLog(new TextEncoder().encode(text.trimStart())))
    readFiles({ files: [pastedFile(text.trimStart())], folders: [], unread: [], isCut: false });
  else if (text.trim() !== '') ask({ ask: 'reason', text });
});

/** Files can be dropped anywhere, at any time; text only where it can be written. */
const isFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes('Files') ?? false;
for (const name of ['dragover', 'dragleave', 'drop'] as const)
  addEventListener(name, (event) => {
    if (isFiles(event) || event.target !== reason) event.preventDefault();
    document.body.classList.toggle('dragging', name === 'dragover' && isFiles(event));
  });
addEventListener('drop', (event) => {
  if (event.dataTransfer === null || !isFiles(event)) return;
  const found = droppedFiles(event.dataTransfer);
  begin();
  const mine = turn;
  void found.then((all) => {
    if (mine === turn) readFiles(all);
  });
});
