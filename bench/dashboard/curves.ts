import { mkdirSync, statSync, globSync } from 'node:fs';
import path from 'node:path';
import { CurveBook } from '../../src/dashboard/curve-book.ts';
import type { JobState } from '@updraft/account/journal';
import { sweepRun } from '../../test/dashboard/sweep-run.ts';
import { markdownTable } from '../markdown-table.ts';
import { scratchFolder } from '../scratch.ts';

/** `node bench/dashboard/curves.ts [SEEDS [POINTS]]`: what the curves of 30 × SEEDS jobs cost the dashboard's server. */
const [seeds = '34', points = '10000'] = process.argv.slice(2);
const folder = path.join(scratchFolder('memory'), 'sweep');
mkdirSync(folder, { recursive: true });
const source = await sweepRun(folder, Date.now() - 3600_000, {
  seeds: Number(seeds),
  points: Number(points),
});
const jobs: JobState[] = [];
for await (const state of source.follow(new AbortController().signal)) {
  jobs.push(...state.jobs);
  break;
}
const book = new CurveBook(folder);
const rows: string[][] = [];
for (const what of ['first', 'again']) {
  const before = process.cpuUsage();
  const from = performance.now();
  const curves = await book.read(jobs, 'val_accuracy', { maxMs: Infinity });
  const { user, system } = process.cpuUsage(before);
  rows.push([
    what,
    ((performance.now() - from) / 1000).toFixed(2),
    ((user + system) / 1e6).toFixed(2),
    (Buffer.byteLength(JSON.stringify(curves)) / 1e6).toFixed(2),
    (process.memoryUsage().rss / 1e6).toFixed(0),
  ]);
}
const bytes = globSync('jobs/*/*/agent.jsonl', { cwd: folder }).reduce(
  (sum, file) => sum + statSync(path.join(folder, file)).size,
  0,
);
console.log(`${jobs.length} jobs with ${points} points each, ${(bytes / 1e6).toFixed(0)} MB of journals.\n`);
console.log(markdownTable(['reading', 'wall, s', 'CPU, s', 'sent, MB', 'memory, MB'], rows));
