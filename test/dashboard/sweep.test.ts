import assert from 'node:assert/strict';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { defined } from '@updraft/base';
import type { RunSource } from '../../src/dashboard/run-source.ts';
import { jobNames } from '@updraft/account/parameters';
import type { Tab } from '../browser/chromium.ts';
import { openChromium } from '../browser/shared-chromium.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { served } from './served.ts';
import { sweepRun } from './sweep-run.ts';

const hydraNames: Record<string, string> = {
  lr: 'optimizer.params.learning_rate',
  batch: 'optimizer.params.weight_decay',
  optimizer: 'model.encoder.num_layers',
  seed: 'model.encoder.num_heads',
};

/** The same sweep with long names of parameters. */
const withHydraNames = (source: RunSource): RunSource => ({
  ...source,
  async *follow(signal) {
    for await (const state of source.follow(signal)) {
      const jobs = state.jobs.map((job) => {
        const cell = Object.entries(job.parameters ?? {});
        return {
          ...job,
          parameters: Object.fromEntries(cell.map(([key, value]) => [hydraNames[key] ?? key, value])),
        };
      });
      const names = jobNames(jobs);
      yield { ...state, jobs: jobs.map((job) => ({ ...job, ...defined({ name: names.get(job.id) }) })) };
    }
  },
});

/** The dashboard of sixty jobs of a matrix; undefined without a browser. */
async function openedSweep(t: TestContext, width = 1280): Promise<Tab | undefined> {
  const browser = await openChromium(t);
  if (browser === undefined) return undefined;
  const folder = path.join(await temporaryFolder(t), 'sweep-k3v9q1');
  const source = await sweepRun(folder, Date.UTC(2026, 0, 2), { seeds: 2, points: 8 });
  const tab = await browser.open(width, 900);
  await tab.go((await served(t, withHydraNames(source))).url);
  await tab.untilText('.found', '60 jobs');
  await tab.until(`document.querySelector('#curves svg') && document.querySelector('#parameters td')`);
  return tab;
}

const shortNames = ['learning_rate', 'weight_decay', 'num_layers', 'num_heads'];
const all = (selector: string, of: string): string =>
  `[...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => ${of})`;

for (const width of [1280, 390])
  test(`long names of parameters are short, whole and different on ${width} pixels`, async (t) => {
    const tab = await openedSweep(t, width);
    if (tab === undefined) return;
    const labels = await tab.read<[number, number, number][]>(
      all(
        '#parameters :is(th, td)',
        '(({ left, right, top }) => [left, right, top])(one.getBoundingClientRect())',
      ),
    );
    for (const [index, [left, right, top]] of labels.entries())
      for (const [other, otherRight, otherTop] of labels.slice(index + 1))
        assert.ok(top !== otherTop || right <= other || left >= otherRight, `${index} is over another cell`);
    assert.deepEqual(await tab.read<string[]>(all('th.parameter', 'one.innerText')), shortNames);
    assert.deepEqual(await tab.read<string[]>(all('th.parameter', 'one.title')), Object.values(hydraNames));
    const cut = `.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)`;
    for (const selector of [
      '.best button',
      'th:is(.parameter, .metric) button',
      'td:is(.parameter, .metric)',
    ])
      assert.deepEqual(
        await tab.read<string[]>(`[...document.querySelectorAll('${selector}')]${cut}`),
        [],
        selector,
      );
    const wide = await tab.read<number>('document.documentElement.scrollWidth');
    assert.ok(wide <= width, `${wide} pixels wide`);
    assert.deepEqual(tab.errors, []);
  });

test('each parameter has a column to sort by', async (t) => {
  const tab = await openedSweep(t);
  if (tab === undefined) return;
  const order = `[...document.querySelectorAll('main > *')].map((one) => one.className)`;
  assert.deepEqual(await tab.read(order), ['questions', 'panel sweep', 'work', 'numbers']);
  const rates = all('td.parameter:nth-child(4)', 'Number(one.innerText)');
  await tab.click('th[title="optimizer.params.learning_rate"] button');
  await tab.until(`(${rates})[0] === 0.0001 && (${rates}).at(-1) === 0.01`);
  await tab.click('th[title="optimizer.params.learning_rate"] button');
  await tab.until(`(${rates})[0] === 1 && (${rates}).at(-1) === 0.01`);
  assert.deepEqual(
    await tab.read<string[]>(
      all('table.jobs th', `one.ariaSort === 'none' ? '' : one.title + one.ariaSort`).concat(
        '.filter(Boolean)',
      ),
    ),
    ['optimizer.params.learning_ratedescending'],
  );
});

test('columns are shown and hidden as the reader chooses', async (t) => {
  const tab = await openedSweep(t);
  if (tab === undefined) return;
  const titles = all('table.jobs th', 'one.innerText');
  const [cells, before] = [
    `document.querySelector('tr[data-job]').cells.length`,
    await tab.read<string[]>(titles),
  ];
  assert.ok(before.includes('num_heads'));
  await tab.click('#columns summary');
  await tab.click('[id="column parameter model.encoder.num_heads"]');
  await tab.until(`${cells} === ${before.length - 1}`);
  assert.deepEqual(
    await tab.read<string[]>(titles),
    before.filter((title) => title !== 'num_heads'),
  );
  await tab.click('[id="column parameter model.encoder.num_heads"]');
  await tab.until(`${cells} === ${before.length}`);
});

test('jobs are ranked by the last or the best value of a metric, in charts and table', async (t) => {
  const tab = await openedSweep(t);
  if (tab === undefined) return;
  await tab.click('th.metric button');
  const values = all('td.metric', 'Number(one.innerText)');
  const shown = all('.best strong', 'Number(one.innerText)');
  await tab.until(`(${values})[0] === (${shown})[0]`);
  const [last] = await tab.read<number[]>(shown);
  await tab.read(`(() => {
    const choice = document.querySelector('#of');
    choice.value = 'best';
    choice.dispatchEvent(new Event('change'));
  })()`);
  await tab.untilText('th.metric', 'best val_accuracy');
  await tab.until(`(${values})[0] === (${shown})[0]`);
  const best = await tab.read<number[]>(shown);
  assert.ok(best[0]! > last!, `${best[0]} is better than ${last}`);
  assert.deepEqual(
    best,
    best.toSorted((a, b) => b - a),
  );
  assert.match(await tab.text('#sweep-title ~ .charts figcaption'), /^best val_accuracy of 60 jobs/);
  assert.match(await tab.text('.model'), /Best model, job \d{4}/);
});
