import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { osgLog } from '../../scripts/osg-log.ts';
import * as report from '../../src/cli/commands/report.ts';
import { reportHtml } from '@updraft/view/html';
import { sectionTable } from '@updraft/view/document';
import type { Tab } from '../browser/chromium.ts';
import { openChromium } from '../browser/shared-chromium.ts';
import { runCommand } from '../cli/run-command.ts';
import { imagenetRun } from '../dashboard/imagenet-run.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const made = {
  'the published 100 jobs': async (cwd: string) => {
    await writeFile(path.join(cwd, 'osg.log'), osgLog());
    return 'osg.log';
  },
  'a run with evictions and checkpoints': async (cwd: string) => {
    await imagenetRun(path.join(cwd, 'runs/imagenet-k3v9q1'), Date.UTC(2026, 2, 4, 12), 24);
    return 'imagenet-k3v9q1';
  },
};

/** The page of `updraft report --html` in a tab; undefined without a browser. */
async function opened(t: TestContext, name: keyof typeof made): Promise<Tab | undefined> {
  const browser = await openChromium(t);
  if (browser === undefined) return undefined;
  const cwd = await temporaryFolder(t);
  await runCommand(report, [await made[name](cwd), '--html', 'page.html'], { cwd });
  const tab = await browser.open();
  await tab.go(pathToFileURL(path.join(cwd, 'page.html')).href);
  await tab.until(`document.readyState === 'complete' && document.querySelector('main svg')`);
  return tab;
}

/** What assistive software sees of the page. */
async function accessible(tab: Tab): Promise<{ role: string; name: string }[]> {
  const { nodes } = (await tab.send('Accessibility.getFullAXTree')) as {
    nodes: { ignored: boolean; role?: { value: string }; name?: { value: string } }[];
  };
  return nodes
    .filter(({ ignored }) => !ignored)
    .map(({ role, name }) => ({ role: role?.value ?? '', name: name?.value ?? '' }));
}

for (const name of Object.keys(made) as (keyof typeof made)[])
  test(`the page of ${name} is accessible, fits a phone and paper, and makes no requests`, async (t) => {
    const tab = await opened(t, name);
    if (tab === undefined) return;
    const nodes = await accessible(tab);
    const named = (role: string) => nodes.filter((node) => node.role === role).map((node) => node.name);
    assert.equal(named('main').length, 1);
    assert.deepEqual(await tab.read(`[...document.querySelectorAll('h1')].length`), 1);
    for (const role of ['table', 'image', 'region', 'navigation', 'link'])
      assert.ok(named(role).length > 0 && named(role).every((label) => label !== ''), role);
    const tables = await tab.read<number>(`document.querySelectorAll('table').length`);
    const captions = await tab.read<string[]>(
      `[...document.querySelectorAll('caption')].map((c) => c.textContent)`,
    );
    assert.equal(new Set(captions).size, tables);
    const bare = `[...document.querySelectorAll('thead th, tbody th')].filter((one) => !one.scope).length`;
    assert.equal(await tab.read<number>(bare), 0);
    const svgs = await tab.read<boolean[]>(
      `[...document.querySelectorAll('figure svg')].map((svg) => svg.getAttribute('role') === 'img' && svg.ariaLabel.length > 20)`,
    );
    assert.ok(svgs.length >= 5 && svgs.every(Boolean));
    await tab.resize(390, 844);
    assert.ok((await tab.read<number>('document.documentElement.scrollWidth')) <= 390);
    await tab.prefer({}, 'print');
    assert.equal(await tab.read<string>(`getComputedStyle(document.querySelector('nav')).display`), 'none');
    const { data } = (await tab.send('Page.printToPDF', {})) as { data: string };
    assert.ok(Buffer.from(data, 'base64').subarray(0, 5).toString() === '%PDF-');
    assert.equal(tab.requests.length, 1);
    assert.deepEqual(tab.errors, []);
  });

test('the keyboard alone skips to the report, scrolls wide tables and sorts them', async (t) => {
  const tab = await opened(t, 'the published 100 jobs');
  if (tab === undefined) return;
  await tab.press('Tab');
  assert.equal(await tab.read<string>('document.activeElement.textContent'), 'Skip to the report');
  await tab.press('Enter');
  await tab.until(`location.hash === '#main'`);
  await tab.press('Tab');
  assert.equal(await tab.read<string>('document.activeElement.className'), 'wide');
  // A heading sorts its table: numbers from the largest, then from the smallest.
  const shares = `[...document.querySelectorAll('#failures tbody tr')].map((row) => Number.parseFloat(row.cells[2].textContent))`;
  const heading = `document.querySelectorAll('#failures thead th')[2]`;
  await tab.read(`${heading}.querySelector('button').focus()`);
  for (const order of ['descending', 'ascending']) {
    await tab.press('Enter');
    assert.equal(await tab.read<string>(`${heading}.getAttribute('aria-sort')`), order);
    const found: number[] = await tab.read<number[]>(shares);
    assert.ok(found.length > 1);
    assert.deepEqual(
      found,
      found.toSorted((a, b) => (order === 'ascending' ? a - b : b - a)),
    );
  }
});

test('the mouse sorts a table; the row of all stays last, and what has no value before it', async (t) => {
  const browser = await openChromium(t);
  if (browser === undefined) return;
  const cwd = await temporaryFolder(t);
  const rows = [
    ['all', 'NaN', '1m01s'],
    ['b', '2', '59s'],
    ['c', '', '2h'],
    ['a', '10', '1h05m'],
    ['all', '13', '9h'],
  ];
  const sections = [sectionTable('s', 'S', 'what | n> | time>', rows)];
  const html = reportHtml({ title: 'x', sections, charts: [], report: { verdict: null, notes: [] } });
  await writeFile(path.join(cwd, 'page.html'), html);
  const tab = await browser.open();
  await tab.go(pathToFileURL(path.join(cwd, 'page.html')).href);
  await tab.until(`document.querySelector('#s thead button')`);
  const order = () =>
    tab.read<string>(`[...document.querySelectorAll('#s tbody tr')].map((row) => row.textContent).join(' ')`);
  const [all, none] = ['all139h', 'allNaN1m01s c2h'];
  const clicked = async (column: number) => {
    await tab.click(`#s thead th:nth-child(${column}) button`);
    return order();
  };
  assert.equal(await clicked(2), `a101h05m b259s ${none} ${all}`);
  assert.equal(await clicked(2), `b259s a101h05m ${none} ${all}`);
  assert.equal(await clicked(3), `c2h a101h05m allNaN1m01s b259s ${all}`);
  assert.equal(await clicked(1), `a101h05m allNaN1m01s b259s c2h ${all}`);
  assert.deepEqual(tab.errors, []);
});

/** Contrast ratio by WCAG, which requires 4.5 for text and 3 for marks. */
const contrast = `((a, b) => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((part) => {
      const value = part / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const [x, y] = [light(a), light(b)];
  return Math.max(x, y) / Math.min(x, y);
})`;

test('text and marks have enough contrast in light and dark mode', async (t) => {
  const tab = await opened(t, 'the published 100 jobs');
  if (tab === undefined) return;
  const style = (what: string, property: string) =>
    `getComputedStyle(document.querySelector('${what}')).${property}`;
  const ground = style('body', 'backgroundColor');
  for (const scheme of ['light', 'dark']) {
    await tab.prefer({ 'color-scheme': scheme });
    const text = await tab.read<number>(`${contrast}(${style('body', 'color')}, ${ground})`);
    const link = await tab.read<number>(`${contrast}(${style('nav a', 'color')}, ${ground})`);
    const dot = await tab.read<number>(`${contrast}(${style('main circle', 'fill')}, ${ground})`);
    assert.ok(text > 7 && link > 4.5 && dot > 3, `${scheme}: ${text} ${link} ${dot}`);
  }
});

test('long names of groups leave the figures room on an ordinary screen', async (t) => {
  const browser = await openChromium(t);
  if (browser === undefined) return;
  const name = Array.from({ length: 6 }, (_, at) => `a_long_parameter_${at}=value_${at}`).join(' ');
  const row = [name, 3, 3, '1h10m', '1h05m to 1h20m', '3h30m'];
  const head = 'group | jobs> | valid> | slot time per valid> | 95 % interval> | on slots>';
  const section = sectionTable('cost', 'Costs', head, [row]);
  const html = reportHtml({
    title: 'Comparison',
    sections: [section],
    charts: [],
    report: { verdict: null, notes: [] },
  });
  const cwd = await temporaryFolder(t, { 'page.html': html });
  const tab = await browser.open();
  await tab.resize(1200, 800);
  await tab.go(pathToFileURL(path.join(cwd, 'page.html')).href);
  await tab.until(`document.readyState === 'complete'`);
  const hidden = `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.wide'))`;
  assert.equal(await tab.read<number>(hidden), 0);
});
