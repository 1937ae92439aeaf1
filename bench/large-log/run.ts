import { statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { bunFor, type Arch } from '../../scripts/bun.ts';
import { renderPage } from '../../scripts/build-page.ts';
import { findChromium, startChromium } from '../../test/browser/chromium.ts';
import { inPoolRoot } from '../eventlog/in-pool-root.ts';
import { makeLog } from '../eventlog/make-log.ts';
import { interleave, median, type Variant } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';
import { scratchFolder } from '../scratch.ts';

/** `node bench/large-log/run.ts [ROUNDS [MEGABYTES [ROOT]]]`; ROOT is a Debian root folder with HTCondor, created if not given. */
const [rounds = '3', wanted = '500', root] = process.argv.slice(2);
/** So that 500 MB have about 150,000 jobs. */
const updates = 8;
const scratch = scratchFolder('memory');
const log = path.join(scratch, 'events.log');
const { events, jobs } = makeLog(log, Number(wanted) * 1e6, updates);
const bench = path.join(import.meta.dirname, '..');

// GNU time reports the peak memory of other programs.
const timed = (...command: string[]): string[] => [
  'bash',
  '-c',
  '/usr/bin/time -f "peak %M" -o "$0" "$@" >/dev/null && cat "$0"',
  path.join(scratch, 'peak'),
  ...command,
];
const main = path.join(bench, '../src/cli/main.ts');
const bun = await bunFor(process.arch as Arch);
const updraft = (...words: string[]): string[] => timed(process.execPath, main, ...words);
const onBun = (...words: string[]): string[] => timed(bun, main, ...words);
const peer = 'HTCondor’s Python, reading only';
const variants: Variant[] = [
  { name: '`updraft report LOG --json`', command: updraft('report', log, '--json') },
  { name: '`updraft why LOG`', command: updraft('why', log) },
  { name: '`updraft why LOG 1000.7`', command: updraft('why', log, '1000.7') },
  { name: '`updraft report LOG --json`, on Bun', command: onBun('report', log, '--json') },
  { name: '`updraft why LOG`, on Bun', command: onBun('why', log) },
  {
    name: 'Updraft, reading only',
    command: timed(process.execPath, path.join(bench, 'eventlog/read.ts'), 'scan', log),
  },
  {
    name: peer,
    command: timed(
      ...(await inPoolRoot(scratch, root)),
      '/usr/bin/python3',
      path.join(bench, 'eventlog/read.py'),
      log,
    ),
  },
];

const costs = await interleave(variants, {
  rounds: Number(rounds),
  prepare: () => undefined,
  prove: () => undefined,
});
const cpuOf = (name: string): number => median((costs.get(name) ?? []).map(({ cpu }) => cpu));
const rows = [...costs].map(([name, runs]) => [
  name,
  median(runs.map(({ wall }) => wall)).toFixed(1),
  cpuOf(name).toFixed(1),
  (cpuOf(name) / cpuOf(peer)).toFixed(2),
  median(runs.map(({ output }) => Number(/peak (\d+)/.exec(output)?.[1] ?? NaN) / 1024)).toFixed(0),
]);
const load = (): string => `load ${os.loadavg()[0]?.toFixed(1)}`;
console.log(
  `${(statSync(log).size / 1e6).toFixed(0)} MB, ${events} events, ${jobs} jobs, ${rounds} rounds, medians; ${load()}.\n`,
);
console.log(markdownTable(['', 'wall s', 'CPU s', 'CPU, × Python', 'peak MB'], rows));

const small = path.join(scratch, 'small.log');
const { bytes } = makeLog(small, Number(wanted) * 2e5, updates);
console.log(`\nThe page, ${(bytes / 1e6).toFixed(0)} MB in Chromium: ${await pageTimes(small)}; ${load()}.`);

interface Processes {
  processInfo: { type: string; id: number; cpuTime: number }[];
}

/** Wall time until the report is shown, and CPU time of the page's process. */
async function pageTimes(file: string): Promise<string> {
  const program = await findChromium();
  if (program === undefined) return 'no Chromium on this machine (Debian package: chromium)';
  const page = path.join(scratch, 'updraft.html');
  writeFileSync(page, await renderPage());
  await using browser = await startChromium(program);
  const tab = await browser.open();
  await tab.go(pathToFileURL(page).href);
  await tab.until(`document.readyState === 'complete' && document.querySelector('#choose')`);
  const cpu = async (): Promise<number> => {
    const { processInfo } = (await browser.send('SystemInfo.getProcessInfo')) as Processes;
    return processInfo.reduce((sum, { type, cpuTime }) => sum + (type === 'renderer' ? cpuTime : 0), 0);
  };
  const [started, before] = [performance.now(), await cpu()];
  const { root: document } = (await tab.send('DOM.getDocument')) as { root: { nodeId: number } };
  const selected = { nodeId: document.nodeId, selector: '#files' };
  const { nodeId } = (await tab.send('DOM.querySelector', selected)) as { nodeId: number };
  await tab.send('DOM.setFileInputFiles', { nodeId, files: [file] });
  await tab.until(`!document.querySelector('#result').hidden`);
  const seconds = (performance.now() - started) / 1000;
  return `${seconds.toFixed(1)} s, ${((await cpu()) - before).toFixed(1)} s of CPU`;
}
