import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { findChromium, startChromium } from '../../test/browser/chromium.ts';
import { imagenetRun } from '../../test/dashboard/imagenet-run.ts';
import { median } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';
import { scratchFolder } from '../scratch.ts';
import { allRows, timePages, type PageTiming } from './time-pages.ts';

/** `node bench/dashboard/run.ts [ROUNDS [JOBS]]` */
const [rounds = '5', jobs = '10000'] = process.argv.slice(2);
const scratch = scratchFolder('memory');
const run = path.join(scratch, 'imagenet-k3v9q1');
await imagenetRun(run, Date.now(), Number(jobs), { stepsPerEpoch: 2 });

const main = path.join(import.meta.dirname, '../../src/cli/main.ts');
const at = (name: string): string => path.join(scratch, name);
for (const words of [
  ['dashboard', run, '--static', at('dashboard.html')],
  ['report', run, '--html', at('report.html')],
]) {
  const { status, stderr } = spawnSync(process.execPath, [main, ...words], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
}

const program = await findChromium();
if (program === undefined) throw new Error('no Chromium on this machine (Debian package: chromium)');
await using browser = await startChromium(program);
const server = spawn(process.execPath, [main, 'dashboard', run, '--no-open'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
process.on('exit', () => server.kill());
const [link] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];

const live = await browser.open();
await live.go(link);
const counted = `document.querySelector('.found')?.innerText === '${Number(jobs).toLocaleString('en')} jobs'`;
await live.until(counted);
// For comparison: the same rows with the same style, all of them in the page.
writeFileSync(at('plain.html'), await allRows(live, Number(jobs)));

const file = (name: string): string => pathToFileURL(at(name)).href;
const pages = [
  { name: 'the dashboard, live', address: new URL('/', link).href, ready: counted, port: '.port' },
  { name: 'the dashboard, as a file', address: file('dashboard.html'), ready: counted, port: '.port' },
  { name: 'its table written out whole', address: file('plain.html'), port: '.port' },
  { name: '`updraft report --html`', address: file('report.html'), port: 'html' },
];
const timings = await timePages(live, pages, Number(rounds));
server.kill();

const middle = (all: PageTiming[], figure: keyof PageTiming) => median(all.map((timing) => timing[figure]));
const sizes = [undefined, 'dashboard.html', 'plain.html', 'report.html'];
const rows = [...timings].map(([name, all], index) => [
  name,
  sizes[index] === undefined ? '' : (statSync(at(sizes[index])).size / 1e6).toFixed(2),
  ...(['paint', 'ready', 'frame', 'slowFrame'] as const).map((figure) => middle(all, figure).toFixed(0)),
  middle(all, 'elements').toLocaleString('en'),
  (middle(all, 'heap') / 1e6).toFixed(0),
]);
console.log(
  `${Number(jobs).toLocaleString('en')} jobs, ${rounds} rounds, medians; load ${os.loadavg()[0]?.toFixed(1)}.\n`,
);
console.log(
  markdownTable(
    [
      '',
      'file, MB',
      'first paint, ms',
      'all there, ms',
      'frame, ms',
      '95 of 100 frames, ms',
      'elements',
      'heap, MB',
    ],
    rows,
  ),
);
