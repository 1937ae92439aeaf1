import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { walkFiles } from '@updraft/base/disk';
import { startNginx } from '../../test/servers/nginx.ts';
import { interleave, median, type Variant } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';
import { measure, type Cost } from '../measure.ts';
import { program } from '../peers.ts';
import { scratchFolder } from '../scratch.ts';
import { addToHash, makeNestedArchive, type NestedArchive } from './nested-archive.ts';
import { unpackVariants } from './variants.ts';

/** `node bench/unpack/run.ts [--classes 100] [--files 180] [--rounds 3] [--where memory|disk] [--only TEXT]...` */
const { values } = parseArgs({
  options: {
    classes: { type: 'string', default: '100' },
    files: { type: 'string', default: '180' },
    rounds: { type: 'string', default: '3' },
    where: { type: 'string', default: 'memory' },
    only: { type: 'string', multiple: true, default: [''] },
  },
});
const own = scratchFolder('disk');
const work = scratchFolder(values.where === 'memory' ? 'memory' : 'disk');
const folder = path.join(work, 'run');
const archive = makeNestedArchive(own, Number(values.classes), Number(values.files));
const nginx = await startNginx(program('nginx', 'nginx-light'), { folder: own, root: own });
try {
  const all = await unpackVariants(`${nginx.httpUrl}/train.tar`, folder, archive, path.join(own, 'compiled'));
  const variants = all.filter(({ name }) => values.only.some((text) => name.includes(text)));
  const costs = await interleave(variants, {
    rounds: Number(values.rounds),
    prepare: freshFolder,
    prove: ({ name }) => prove(name, archive),
  });
  const peaks = new Map<string, number>();
  for (const variant of variants) peaks.set(variant.name, await peakBytes(variant));
  console.log(tableOf(archive, costs, peaks));
} finally {
  await nginx.stop();
}

/**
 * On a disk the last tree is only moved aside: after many inodes were freed, ext4 searches long for free ones, which
 * would slow down the next run.
 */
function freshFolder(): void {
  if (values.where === 'memory') rmSync(folder, { recursive: true, force: true });
  else if (existsSync(folder)) renameSync(folder, path.join(work, `old-${readdirSync(work).length}`));
  mkdirSync(folder);
}

/** Throws unless exactly the expected files exist, with every byte. */
async function prove(name: string, { hash, files }: NestedArchive): Promise<void> {
  const into = path.join(folder, 'into');
  const tree = createHash('sha256');
  const found = await walkFiles(into);
  for (const file of found) addToHash(tree, file, readFileSync(path.join(into, file)));
  if (found.length !== files || tree.digest('hex') !== hash) throw new Error(`${name} left wrong files`);
}

/** Peak size of the folder, measured every quarter of a second, in a separate run. */
async function peakBytes(variant: Variant): Promise<number> {
  freshFolder();
  let peak = 0;
  const sample = setInterval(() => {
    const said = spawnSync('du', ['-s', '--block-size=1', folder], { encoding: 'utf8' }).stdout;
    peak = Math.max(peak, Number(said.split('\t')[0]));
  }, 250);
  await measure(variant.command, variant.env === undefined ? {} : { env: variant.env });
  clearInterval(sample);
  freshFolder();
  return peak;
}

function tableOf(of: NestedArchive, costs: Map<string, Cost[]>, peaks: Map<string, number>): string {
  const medians = [...costs].map(([name, runs]) => ({
    name,
    wall: median(runs.map(({ wall }) => wall)),
    cpu: median(runs.map(({ cpu }) => cpu)),
    memory: median(runs.map(({ output }) => memoryOf(output))),
  }));
  const [seed, piped] = ['curl;', 'curl \\|'].map((start) =>
    medians.find(({ name }) => name.startsWith(start)),
  );
  const rows = medians.map(({ name, wall, cpu, memory }) => [
    name,
    wall.toFixed(2),
    cpu.toFixed(2),
    (wall / (seed?.wall ?? NaN)).toFixed(2),
    (cpu / (seed?.cpu ?? NaN)).toFixed(2),
    (wall / (piped?.wall ?? NaN)).toFixed(2),
    (cpu / (piped?.cpu ?? NaN)).toFixed(2),
    ((peaks.get(name) ?? NaN) / of.unpackedBytes).toFixed(2),
    Number.isNaN(memory) ? '' : String(Math.round(memory / 1e6)),
  ]);
  const head = ['', 'wall s', 'CPU s', 'wall × seed', 'CPU × seed', 'wall × piped', 'CPU × piped'];
  const title = `### ${of.files} files, ${(of.unpackedBytes / 1e9).toFixed(2)} GB, ${values.where}, median of ${values.rounds}`;
  return `\n${title}\n\n${markdownTable([...head, 'peak disk × data', 'memory MB'], rows)}`;
}

function memoryOf(output: string): number {
  return Number(/"maxRssBytes":(\d+)/.exec(output)?.[1] ?? NaN);
}
