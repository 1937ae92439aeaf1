import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { systemClock } from '@updraft/base';
import { serveDashboard } from '../src/dashboard/serve-dashboard.ts';
import { findChromium, startChromium, type Tab } from '../test/browser/chromium.ts';
import { imagenetRun } from '../test/dashboard/imagenet-run.ts';
import { folderRun } from '../test/dashboard/served.ts';
import { sweepRun } from '../test/dashboard/sweep-run.ts';
import { osgLog } from './osg-log.ts';

/** `npm run pictures`: writes the pictures of README.md with a real Chromium, reproducibly. */
const pictures = path.join(path.dirname(import.meta.dirname), 'docs', 'pictures');
const now = Date.UTC(2026, 10, 16, 12);
const folder = mkdtempSync(path.join(os.tmpdir(), 'updraft-pictures-'));
try {
  await takePictures();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function takePictures(): Promise<void> {
  const program = await findChromium();
  if (program === undefined) throw new Error('no Chromium on this machine (Debian package: chromium)');
  await using browser = await startChromium(program);
  const tab = await browser.open(1400, 900);
  await tab.send('Emulation.setScrollbarsHidden', { hidden: true });
  await tab.prefer({ 'color-scheme': 'light' });
  await tab.send('Emulation.setTimezoneOverride', { timezoneId: 'UTC' });
  await tab.send('Page.addScriptToEvaluateOnNewDocument', { source: `Date.now = () => ${now}` });
  mkdirSync(pictures, { recursive: true });
  await pictureDashboard(tab);
  await pictureSweep(tab);
  await pictureReport(tab);
}

/** Twenty-four jobs, an hour and a half after they were submitted. */
async function pictureDashboard(tab: Tab): Promise<void> {
  const run = path.join(folder, 'imagenet-k3v9q1');
  await imagenetRun(run, now, 24);
  keepAlive(run);
  const clock = { ...systemClock, now: () => now };
  await using dashboard = await serveDashboard({
    runs: [{ ...folderRun(run), place: 'runs/imagenet-k3v9q1' }],
    clock,
    version: '0.1.0',
  });
  await tab.go(dashboard.url);
  await tab.untilText('#verdict', 'valid result');
  await tab.untilText('.live', 'live');
  await save(tab, 'dashboard.webp');
}

/** Sixty jobs of a matrix, with what they measured. */
async function pictureSweep(tab: Tab): Promise<void> {
  const source = await sweepRun(path.join(folder, 'sweep-k3v9q1'), now - 3600_000, { seeds: 2, points: 30 });
  const run = { ...source, place: 'runs/sweep-k3v9q1' };
  const clock = { ...systemClock, now: () => now };
  await using dashboard = await serveDashboard({
    runs: [run],
    clock,
    version: '0.1.0',
  });
  await tab.resize(1400, 980);
  await tab.go(dashboard.url);
  await tab.until(`document.querySelector('#curves svg') && document.querySelector('#parameters table')`);
  await tab.until(`!document.querySelector('.charts').innerText.includes('reading')`);
  await tab.read(`document.querySelector('.sweep').scrollIntoView()`);
  await save(tab, 'sweep.webp');
}

/** Sets the last report of running agents to half a minute ago. */
function keepAlive(run: string): void {
  for (const journal of globSync('jobs/*/*/agent.jsonl', { cwd: run })) {
    const file = path.join(run, journal);
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    const { job, attempt } = JSON.parse(lines[0] ?? '') as { job: string; attempt: number };
    if (lines.some((line) => line.includes('agent-ended'))) continue;
    const t = new Date(now - 30_000);
    const entry = { v: 1, t, seq: lines.length, job, attempt, kind: 'heartbeat' };
    appendFileSync(file, `${JSON.stringify({ ...entry, memoryBytes: 11.3e9, quietSeconds: 0 })}\n`);
    // When a journal was last written is when its agent was last heard of.
    utimesSync(file, t, t);
  }
}

/** The hundred published jobs. */
async function pictureReport(tab: Tab): Promise<void> {
  const [log, page] = [path.join(folder, 'osg-100.log'), path.join(folder, 'report.html')];
  writeFileSync(log, osgLog());
  const main = path.join(import.meta.dirname, '../src/cli/main.ts');
  const words = [main, 'report', log, '--valid', 'bytes>1M', '--html', page];
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  await tab.resize(1000, 810);
  await tab.go(pathToFileURL(page).href);
  await tab.until(`location.protocol === 'file:' && document.readyState === 'complete'`);
  await save(tab, 'report.webp');
}

async function save(tab: Tab, name: string): Promise<void> {
  const taken = await tab.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
  const picture = Buffer.from((taken as { data: string }).data, 'base64');
  if (picture.length > 150_000) throw new Error(`${name} has ${picture.length} bytes, more than 150 kB`);
  writeFileSync(path.join(pictures, name), picture);
}
