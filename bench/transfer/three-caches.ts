import { rmSync } from 'node:fs';
import path from 'node:path';
import { startNginx } from '../../test/servers/nginx.ts';
import { interleave, median, type Variant } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';
import type { Cost } from '../measure.ts';
import { plainEnvironment, program } from '../peers.ts';
import { scratchFolder, sha256OfFile, writeRandomFile } from '../scratch.ts';
import { stallingProxy } from './stalling-proxy.ts';

const rates = [50e6, 100e6, 200e6];
const fetchCaches = path.join(import.meta.dirname, 'fetch-caches.ts');

/** Three caches of 50, 100 and 200 MB/s; then the same, with the second one stalling halfway. */
export async function threeCaches(mebibytes: number, rounds: number): Promise<void> {
  const [memory, disk] = [scratchFolder('memory'), scratchFolder('disk')];
  const expected = writeRandomFile(path.join(memory, 'big.bin'), mebibytes);
  const target = path.join(memory, 'copy.bin');
  const nginx = await startNginx(program('nginx', 'nginx-light'), {
    folder: disk,
    root: memory,
    limits: rates,
  });
  const [slow = '', middle = '', fast = ''] = nginx.limitedUrls;
  const compiled = path.join(disk, 'compiled');
  const bytes = mebibytes * 2 ** 20;
  const share = (bytes * (rates[1] ?? 0)) / sum(rates);
  const stalling = await stallingProxy('127.0.0.2', middle, share / 2);
  const course = {
    rounds,
    limitSeconds: 60,
    prepare() {
      stalling.reset();
      for (const rest of ['', '.aria2', '.updraft-part', '.updraft-part.json'])
        rmSync(target + rest, { force: true });
    },
    async prove({ name }: Variant) {
      if ((await sha256OfFile(target)) !== expected) throw new Error(`${name} brought wrong bytes`);
    },
  };
  try {
    const steady = await interleave(variants(target, [slow, middle, fast], compiled), course);
    show('three caches of 50, 100 and 200 MB/s', bytes / sum(rates), steady, mebibytes);
    const hit = await interleave(variants(target, [slow, stalling.url, fast], compiled), course);
    // Until the stall all three help; the rest comes from two.
    const before = share / 2 / (rates[1] ?? NaN);
    const after = (bytes - before * sum(rates)) / ((rates[0] ?? 0) + (rates[2] ?? 0));
    show('the 100 MB/s cache stalls half-way', before + after, hit, mebibytes);
  } finally {
    stalling.close();
    await nginx.stop();
  }
}

function variants(target: string, bases: string[], compileCache: string): Variant[] {
  const urls = bases.map((base) => `${base}/big.bin`);
  const flags = ['-q', '-s3', '-x1', '-k1M', '--file-allocation=none', '-d', '/', '-o', target];
  return [
    {
      name: 'Updraft',
      command: [process.execPath, fetchCaches, target, ...urls],
      env: plainEnvironment(compileCache),
    },
    { name: 'aria2c -s3', command: [program('aria2c', 'aria2'), ...flags, ...urls] },
  ];
}

function show(title: string, ideal: number, costs: Map<string, Cost[]>, mebibytes: number): void {
  const rows = [...costs].map(([name, runs]) => {
    const wall = median(runs.map((run) => run.wall));
    // The engine's own figure, without the start of its process.
    const own = median(runs.map(({ output }) => Number(/"seconds":([\d.]+)/.exec(output)?.[1] ?? NaN)));
    const share = (seconds: number): string => (Number.isNaN(seconds) ? '' : (ideal / seconds).toFixed(2));
    return [name, wall.toFixed(2), share(wall), share(own)];
  });
  const head = ['', 'wall s', 'share of what the caches can give', 'the same, without process start'];
  console.log(
    `\n### ${mebibytes} MiB, ${title}: ideal ${ideal.toFixed(2)} s\n\n${markdownTable(head, rows)}`,
  );
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
