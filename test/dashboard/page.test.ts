import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { defined, systemClock } from '@updraft/base';
import type { BoardUpdate } from '../../src/dashboard/page-data.ts';
import { staticPage } from '../../src/dashboard/page.ts';
import type { RunSource } from '../../src/dashboard/run-source.ts';
import { jobNames } from '@updraft/account/parameters';
import { loadRun, type RunState } from '@updraft/account/journal';
import type { Tab } from '../browser/chromium.ts';
import { openChromium } from '../browser/shared-chromium.ts';
import { sweptRun } from '../cli/swept-run.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { imagenetRun, rememberedImagenet, type WrittenRun } from './imagenet-run.ts';
import { folderRun, served } from './served.ts';

interface Opened {
  tab: Tab;
  run: WrittenRun;
  stopped: string[][];
  retried: string[][];
}

interface Wish {
  width?: number;
  height?: number;
  message?: string;
}

/** The dashboard of a run in a new tab; undefined without a browser. */
async function opened(t: TestContext, { width, height, message }: Wish = {}): Promise<Opened | undefined> {
  const browser = await openChromium(t);
  if (browser === undefined) return undefined;
  const folder = path.join(await temporaryFolder(t), 'imagenet-k3v9q1');
  const now = Date.now();
  const run = await imagenetRun(folder, now, 24, message === undefined ? {} : { message });
  const [stopped, retried]: [string[][], string[][]] = [[], []];
  // A fixed clock, so that nothing changes without a cause.
  const clock = { ...systemClock, now: () => now };
  const dashboard = await served(t, folderRun(folder, stopped, retried), clock);
  const tab = await browser.open(width, height);
  await tab.go(dashboard.url);
  await tab.untilText('#verdict', 'valid result');
  await tab.untilText('.live', 'live');
  return { tab, run, stopped, retried };
}

const fileOf = (folder: string, state: RunState): Promise<string> =>
  staticPage(folderRun(folder), state, { clock: systemClock, version: '0.0.0' });

for (const [device, width, height] of [
  ['a desktop', 1280, 900],
  ['a phone', 390, 844],
] as const)
  test(`the four questions are answered first, and nothing is wider than the screen, on ${device}`, async (t) => {
    const page = await opened(t, { width, height });
    if (page === undefined) return;
    const { tab } = page;
    await tab.untilText('#verdict', 'No: 3 jobs of 24 need you.');
    assert.match(await tab.text('#verdict'), /9 of 24 jobs have a valid result/);
    assert.match(await tab.text('#wrong'), /3 jobs: wrong-output\s+needs you/);
    assert.match(await tab.text('#doing'), /3 jobs: running again \(last attempt: evicted\)/);
    assert.match(await tab.text('#wasted'), /of .* on slots \(\d+\.\d %\)/);
    assert.match(await tab.text('#setbacks'), /transfer-stalled/);
    assert.match(await tab.text('.legend'), /stalled/);
    const wide = await tab.read<number>('document.documentElement.scrollWidth');
    assert.ok(wide <= width, `${wide} pixels wide`);
    assert.deepEqual(tab.errors, []);
  });

test('a click on a job shows its explanation, its loss over all attempts and its log', async (t) => {
  const page = await opened(t);
  if (page === undefined) return;
  const { tab } = page;
  await tab.until(`document.querySelector('tr[data-job="0002"] button')`);
  await tab.click('tr[data-job="0002"] button');
  await tab.untilText('#explanation', 'Attempt 1 at UChicago: the slot was taken back');
  assert.match(await tab.text('#explanation'), /Attempt 2 at UChicago is training/);
  assert.match(await tab.text('#now'), /^training · UChicago · epoch 6\/8/);
  assert.match(
    await tab.read<string>(`document.querySelector('#lanes').textContent`),
    /place.*evicted.*phase.*training.*checkpoints/s,
  );
  assert.match(await tab.text('.job .attempts'), /Its last checkpoint \(epoch 2\) was saved at/);
  assert.match(await tab.text('.job .attempts'), /It resumed from epoch 2 of attempt 1, and has passed it/);
  await tab.untilText('#log', 'loss of job 0002, attempt 2');
  assert.equal(await tab.read<number>(`document.querySelectorAll('#curve .line').length`), 1);
  assert.match(
    await tab.read<string>(`document.querySelector('#curve svg').ariaLabel`),
    /^loss of 1 job over \d epochs, from/,
  );
  assert.equal(await tab.read<string>('document.activeElement.id'), 'job-title');
  assert.deepEqual(tab.errors, []);
});

test('a missing file of the run is listed as wrong, with its fix', async (t) => {
  const browser = await openChromium(t);
  if (browser === undefined) return;
  const { folder } = await imagenetRun(path.join(await temporaryFolder(t), 'run-1'), Date.now(), 1);
  const trouble = { message: 'events.log is gone: the run cannot be followed.', fix: 'restore `events.log`' };
  const source = folderRun(folder);
  const dashboard = await served(t, {
    ...source,
    async *follow(signal) {
      for await (const state of source.follow(signal)) yield { ...state, trouble };
    },
  });
  const tab = await browser.open();
  await tab.go(dashboard.url);
  await tab.untilText('#wrong', 'events.log is gone: the run cannot be followed.');
  assert.match(await tab.text('#wrong'), /What helps: restore events\.log/);
  assert.equal(await tab.text('#wrong .fix code'), 'events.log');
});

test('changes in the run appear on the page without a reload', async (t) => {
  const page = await opened(t);
  if (page === undefined) return;
  const { tab, run } = page;
  await tab.read('void (window.samePage = true)');
  await run.append(5399, { kind: 'attempt-started', job: '0007', attempt: 1, why: 'first attempt' });
  await run.append(5399, { kind: 'attempt-ended', job: '0007', attempt: 1, outcome: 'success', exit: 0 });
  await run.append(5399, { kind: 'job-ended', job: '0007', outcome: 'success' });
  await tab.untilText('#verdict', '10 of 24 jobs have a valid result');
  await tab.untilText('tr[data-job="0007"]', 'success');
  assert.equal(await tab.read<boolean>('window.samePage'), true);
  assert.equal(tab.requests.filter((url) => url.endsWith('/')).length, 1);
});

test('stopping asks first, shows the equivalent command, and can be cancelled', async (t) => {
  const page = await opened(t);
  if (page === undefined) return;
  const { tab, stopped } = page;
  await tab.click('header button.danger');
  await tab.untilText('dialog[open]', 'updraft stop imagenet-k3v9q1');
  assert.equal(await tab.read<string>('document.activeElement.innerText'), 'Keep running');
  await tab.press('Escape');
  await tab.until(`document.querySelector('dialog[open]') === null`);
  assert.deepEqual(stopped, []);
  await tab.click('tr[data-job="0004"] button');
  await tab.untilText('.actions', 'Stop job 0004');
  await tab.click('.actions button.danger');
  await tab.untilText('dialog[open]', 'updraft stop imagenet-k3v9q1 0004');
  await tab.click('dialog[open] button.danger');
  await tab.until(`document.querySelector('dialog[open]') === null`);
  assert.deepEqual(stopped, [['0004']]);
});

test('trying again asks first, shows the equivalent command, and affects only failed jobs', async (t) => {
  const page = await opened(t);
  if (page === undefined) return;
  const { tab, retried } = page;
  await tab.click('header button.act');
  await tab.untilText('dialog[open]', 'updraft retry imagenet-k3v9q1');
  assert.equal(await tab.read<string>('document.activeElement.innerText'), 'Leave it');
  await tab.press('Escape');
  await tab.until(`document.querySelector('dialog[open]') === null`);
  assert.deepEqual(retried, []);
  await tab.click('tr[data-job="0004"] button');
  await tab.untilText('.actions', 'Stop job 0004');
  assert.doesNotMatch(await tab.text('.actions'), /again/);
  const failed = await tab.read<string>(
    `[...document.querySelectorAll('tr[data-job]')].find((row) => row.innerText.includes('wrong-output')).dataset.job`,
  );
  await tab.click(`tr[data-job="${failed}"] button`);
  await tab.untilText('.actions', `Try job ${failed} again`);
  assert.match(await tab.text('.actions'), new RegExp(`updraft why imagenet-k3v9q1 ${failed}`));
  await tab.click('.actions button.act');
  await tab.untilText('dialog[open]', `updraft retry imagenet-k3v9q1 ${failed}`);
  await tab.click('dialog[open] button.act');
  await tab.until(`document.querySelector('dialog[open]') === null`);
  assert.deepEqual(retried, [[failed]]);
});

test('markup, emoji and ten thousand characters in a message are shown as text', async (t) => {
  const hostile = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script></script><!--"'& 🦅 ${'A'.repeat(10_000)} end`;
  const page = await opened(t, { message: hostile, width: 390, height: 844 });
  if (page === undefined) return;
  const { tab, run } = page;
  await tab.untilText('#wrong', '<img src=x onerror=');
  await tab.click('tr[data-job="0001"] button');
  await tab.untilText('#explanation', '🦅');
  assert.match(await tab.text('#explanation'), /<script>window\.hacked=1<\/script>.*A{300}/s);
  await run.print('0001', 2, `${hostile}\n\u001b[31mred\n`);
  await tab.untilText('#log', 'onerror');
  assert.equal(await tab.read<number>(`document.querySelectorAll('img, #page script').length`), 0);
  assert.equal(await tab.read('window.hacked ?? null'), null);
  const wide = await tab.read<number>('document.documentElement.scrollWidth');
  assert.ok(wide <= 390, `${wide} pixels wide`);
  assert.deepEqual(tab.errors, []);
});

test('jobs can be found by text and state, and reached with the keyboard alone', async (t) => {
  const page = await opened(t);
  if (page === undefined) return;
  const { tab } = page;
  await tab.click('#search');
  await tab.type('wrong-output');
  await tab.untilText('.found', '3 of 24 jobs');
  await tab.press('Tab');
  assert.equal(await tab.read<string>('document.activeElement.id'), 'state');
  await tab.press('Tab');
  assert.equal(await tab.read<string>('document.activeElement.innerText'), 'Columns');
  await tab.press('Tab');
  assert.equal(await tab.read<string>('document.activeElement.className'), 'port');
  await tab.press('Tab');
  assert.match(await tab.read<string>('document.activeElement.innerText'), /^Job/);
  const isJob = `document.activeElement.closest('tbody') !== null`;
  for (let headings = 1; headings < 8 && !(await tab.read<boolean>(isJob)); headings += 1)
    await tab.press('Tab');
  assert.equal(await tab.read<string>('document.activeElement.innerText'), '0005');
  await tab.press('Enter');
  await tab.untilText('#explanation', 'imagenet_resnet50.pt is missing');
  const unnamed = `[...document.querySelectorAll('button, input, select, svg[role=img], [role=region]')]
    .filter((one) => !(one.innerText || one.ariaLabel || one.labels?.length || one.getAttribute('aria-labelledby')))`;
  assert.equal(await tab.read<number>(`${unnamed}.length`), 0);
});

/** The same run as a sweep: its jobs have parameters. */
const withParameters = (source: RunSource): RunSource => ({
  ...source,
  async *follow(signal) {
    for await (const state of source.follow(signal)) {
      const jobs = state.jobs.map((job, index) => ({
        ...job,
        parameters: { lr: [0.1, 0.01, 0.001][index % 3] ?? 0, opt: index % 2 === 0 ? 'sgd' : 'adam' },
      }));
      const names = jobNames(jobs);
      yield { ...state, jobs: jobs.map((job) => ({ ...job, ...defined({ name: names.get(job.id) }) })) };
    }
  },
});

test('a sweep is sorted by what it measured, drawn, named by its parameters, and its best model downloaded', async (t) => {
  const browser = await openChromium(t);
  if (browser === undefined) return;
  const folder = path.join(await temporaryFolder(t), 'imagenet-k3v9q1');
  await imagenetRun(folder, Date.now(), 24);
  for (const job of ['0000', '0001', '0003', '0008', '0009', '0011', '0016', '0017', '0019']) {
    await mkdir(path.join(folder, 'results', job), { recursive: true });
    await writeFile(path.join(folder, 'results', job, 'model.pt'), `weights of ${job}`);
  }
  const tab = await browser.open();
  await tab.go((await served(t, withParameters(folderRun(folder)))).url);
  await tab.untilText('.found', '24 jobs');

  const losses = `[...document.querySelectorAll('tr[data-job] .metric')].map((cell) => Number(cell.innerText || 'Infinity'))`;
  const isAscending = `(${losses}).every((loss, index, all) => index === 0 || all[index - 1] <= loss)`;
  const sorted = `document.querySelector('th.metric').ariaSort`;
  await tab.until(`document.querySelector('th.metric button')?.innerText.startsWith('loss')`);
  await tab.click('th.metric button');
  await tab.until(`${sorted} === 'ascending' && ${isAscending}`);
  assert.ok((await tab.read<number[]>(losses)).filter(Number.isFinite).length > 1);
  await tab.click('th.metric button');
  await tab.until(`${sorted} === 'descending' && !(${isAscending})`);
  assert.equal(await tab.read<string>(`document.querySelector('th.job').ariaSort`), 'none');

  await tab.until(`document.querySelector('#curves svg')`);
  assert.match(
    await tab.read(`document.querySelector('#curves svg').ariaLabel`),
    /^loss of 18 jobs over 8 epochs/,
  );
  assert.match(await tab.text('#parameters'), /opt=adam\s+opt=sgd\s+lr=0\.001\s+\d/);
  assert.equal(await tab.read<number>(`document.querySelectorAll('#curves [data-rank] ').length`), 16);
  await tab.read(`document.querySelector('#curves').focus()`);
  await tab.press('End');
  await tab.untilText('.readout', '(no valid result) loss');
  for (const key of ['Home', 'ArrowDown']) await tab.press(key);
  await tab.untilText('.readout', '2 of 18');
  await tab.press('ArrowLeft');
  assert.match(
    await tab.text('.readout'),
    /2 of 18; \d\.\d+ at epochs \d/,
    'its value at a point of the line',
  );
  assert.match(await tab.text('.readout'), /^\d{4} lr=0\.\d+ opt=\w+ loss/);

  const best = /job (\d+) lr=0\.\d+ opt=\w+: /.exec(await tab.text('.model'))?.[1] ?? '';
  const saved = await tab.read<[string, string | null]>(
    `fetch(document.querySelector('.model a').href).then(async (reply) => [await reply.text(), reply.headers.get('content-disposition')])`,
  );
  assert.equal(saved[0], `weights of ${best}`);
  assert.match(saved[1] ?? '', new RegExp(`^attachment; filename="imagenet-k3v9q1-${best}-model.pt"`));

  await tab.press('Enter');
  await tab.untilText('#job-title', 'opt=');
  await tab.untilText('#results', 'model.pt (15 B)');
  await tab.click('#search');
  await tab.type('lr=0.01 opt=sgd');
  await tab.untilText('#sweep-title ~ .charts figcaption', 'loss of 3 jobs');
  assert.deepEqual(tab.errors, []);
});

test('dark mode, reduced motion and print are supported', async (t) => {
  const page = await opened(t);
  if (page === undefined) return;
  const { tab } = page;
  const ground = 'getComputedStyle(document.body).backgroundColor';
  const light = await tab.read<string>(ground);
  await tab.prefer({ 'color-scheme': 'dark', 'reduced-motion': 'reduce' });
  assert.notEqual(await tab.read<string>(ground), light);
  await tab.prefer({}, 'print');
  assert.equal(await tab.read<string>(`getComputedStyle(document.querySelector('.tools')).display`), 'none');
});

test('of ten thousand jobs only visible ones are in the page, a change sends one job, and a saved page has all', async (t) => {
  const browser = await openChromium(t);
  if (browser === undefined) return;
  const folder = path.join(await temporaryFolder(t), 'imagenet-k3v9q1');
  const now = Date.now();
  const run = await rememberedImagenet(path.basename(folder), now, 10_000);
  const source = { ...folderRun(folder), follow: (signal: AbortSignal) => run.follow(signal) };
  const tab = await browser.open();
  await tab.go((await served(t, source, { ...systemClock, now: () => now })).url);
  const rows = `document.querySelectorAll('table.jobs tr').length`;
  await tab.untilText('.found', '10,000 jobs');
  assert.ok((await tab.read<number>(rows)) < 60);
  await tab.read(`document.querySelector('.port').scrollTop = 1e9`);
  await tab.untilText('table.jobs', '9999');
  assert.ok((await tab.read<number>(rows)) < 60);
  tab.console.length = 0;
  run.append(5399, { kind: 'job-ended', job: '0007', outcome: 'stopped' });
  await tab.untilText('#verdict', '1 stopped');
  const reported = tab.console.find((text) => text.includes('"stopped"')) ?? '';
  const { rows: changed } = JSON.parse(reported) as BoardUpdate;
  assert.deepEqual(
    changed.map(({ id }) => id),
    ['0007'],
  );
  t.diagnostic(`a change takes ${reported.length} characters`);
  const bytes = Buffer.byteLength(await fileOf(folder, run.state()));
  t.diagnostic(`the file has ${(bytes / 1e6).toFixed(2)} MB`);
  assert.ok(bytes < 5e6, `${bytes} bytes`);
  assert.deepEqual(tab.errors, []);
});

test('a saved page has the curves of all metrics that fit', async (t) => {
  const names = Array.from({ length: 9 }, (_, at) => `m${at}`);
  const jobFile = 'name = "x"\n[train]\ncommand = "t {lr}"\noutputs = ["m"]\n[run.matrix]\nlr = [1, 2]\n';
  const metrics = Object.fromEntries(names.map((name) => [name, 1]));
  const { folder } = await sweptRun(t, jobFile, () => ({ epoch: 1, metrics }));
  const saved = async (jobs: number): Promise<number> => {
    const state = await loadRun(folder);
    const many = Array.from({ length: jobs }, (_, at) => state.jobs[at % 2]!);
    const html = await fileOf(folder, { ...state, jobs: many });
    return html.split('"units":["epochs","time"],"isComplete"').length - 1;
  };
  assert.deepEqual([await saved(2), await saved(1000)], [9, 6]);
});

test('the saved page shows the same without a server or any request', async (t) => {
  const browser = await openChromium(t);
  if (browser === undefined) return;
  const parent = await temporaryFolder(t);
  const { folder } = await imagenetRun(path.join(parent, 'imagenet-k3v9q1'), Date.now(), 24);
  const html = await fileOf(folder, await loadRun(folder));
  const file = path.join(parent, 'page.html');
  await writeFile(file, html);
  const tab = await browser.open();
  await tab.go(pathToFileURL(file).href);
  await tab.untilText('#verdict', 'No: 3 jobs of 24 need you.');
  await tab.until(`document.querySelector('tr[data-job="0002"] button')`);
  await tab.click('tr[data-job="0002"] button');
  await tab.untilText('#explanation', 'the slot was taken back');
  assert.equal(await tab.read<number>(`document.querySelectorAll('#curve .line').length`), 1);
  await tab.read(`document.querySelector('.sweep').scrollIntoView()`);
  await tab.until(`document.querySelector('#curves svg')`);
  await tab.read(`(() => {
    window.delayed = [];
    const start = window.setTimeout;
    window.setTimeout = (action, ms) => (ms >= 500 ? delayed.push(action) : start(action, ms));
    const metric = document.querySelector('#metric');
    metric.append(new Option('other'));
    metric.value = 'other';
    metric.dispatchEvent(new Event('change'));
  })()`);
  await tab.untilText(
    '#curves',
    'This saved page has no curves of this metric, to stay small: updraft dashboard',
  );
  const afterDelay = `(async () => {
    for (const action of delayed.splice(0)) action();
    await new Promise(requestAnimationFrame);
    return delayed.length;
  })()`;
  await tab.read(afterDelay);
  assert.equal(await tab.read<number>(afterDelay), 0, 'it does not ask again');
  await tab.read(`(() => {
    const metric = document.querySelector('#metric');
    metric.value = 'loss';
    metric.dispatchEvent(new Event('change'));
  })()`);
  await tab.until(`document.querySelector('#curves svg')`);
  const places = `[...document.querySelectorAll('#curves text.rank')].map((one) => Number(one.getAttribute('y')))`;
  const ranks = await tab.read<number[]>(places);
  assert.equal(ranks.length, 8);
  assert.ok(Math.max(...ranks) <= 340 - 40, `a number is below the chart: ${ranks.join(' ')}`);
  const order = `[...document.querySelectorAll('main > *')].map((one) => one.className)`;
  assert.deepEqual(await tab.read(order), ['questions', 'work', 'panel sweep', 'numbers'], 'jobs come first');
  assert.equal(await tab.read<boolean>(`document.querySelector('header button.danger').hidden`), true);
  assert.equal(tab.requests.length, 1);
  assert.deepEqual(tab.errors, []);
});
