import path from 'node:path';
import { bundlePrograms } from '../../scripts/bundle-programs.ts';
import { sweepRun } from '../../test/dashboard/sweep-run.ts';
import { median } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';
import { scratchFolder } from '../scratch.ts';
import { useOf } from '../use-of.ts';

/** `node bench/journal/run.ts [SEEDS [POINTS]]`: what 30 × SEEDS jobs with this many reports each cost the commands. */
const [seeds = 3, points = 10_000] = process.argv.slice(2).map(Number);
const rounds = 3;

await bundlePrograms();
const scratch = scratchFolder('memory');
const sizes = [points / 10, points];
for (const size of sizes) await sweepRun(folderOf(size), Date.now() - 3600_000, { seeds, points: size });

const commands = [['status'], ['results'], ['report'], ['why']];
const rows = commands.map((command) => {
  const [few = [], many = []] = sizes.map((size) =>
    Array.from({ length: rounds }, () => useOf([...command, folderOf(size)])),
  );
  const [less, more] = [median(few.map(({ cpu }) => cpu)), median(many.map(({ cpu }) => cpu))];
  return [
    command.slice(0, 2).join(' '),
    more.toFixed(2),
    (((more - less) * 1e6) / (seeds * 30 * (points - points / 10))).toFixed(1),
    median(few.map(({ peak }) => peak)).toFixed(0),
    median(many.map(({ peak }) => peak)).toFixed(0),
  ];
});
const peaks = sizes.map((size) => `MB with ${size}`);
console.log(`${seeds * 30} jobs with ${points} reports each.\n`);
console.log(markdownTable(['', 'CPU, s', 'µs per report', ...peaks], rows));

function folderOf(size: number): string {
  return path.join(scratch, `sweep-${size}`);
}
