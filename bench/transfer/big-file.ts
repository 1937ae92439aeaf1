import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { makeCertificateAuthority } from '@updraft/mini/testing';
import { startNginx } from '../../test/servers/nginx.ts';
import { interleave, median } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';
import type { Cost } from '../measure.ts';
import { downloaders, program } from '../peers.ts';
import { scratchFolder, sha256OfFile, writeRandomFile } from '../scratch.ts';

/** One big file from nginx: over http to memory and to the disk, over https to memory. `only` chooses variants. */
export async function bigFile(mebibytes: number, rounds: number, only: string[]): Promise<void> {
  const [memory, disk] = [scratchFolder('memory'), scratchFolder('disk')];
  const ca = path.join(disk, 'ca.pem');
  const authority = makeCertificateAuthority('Benchmark', Date.now());
  writeFileSync(ca, authority.certificate);
  const expected = writeRandomFile(path.join(memory, 'big.bin'), mebibytes);
  const nginx = await startNginx(program('nginx', 'nginx-light'), {
    folder: disk,
    root: memory,
    tls: authority.issue(['127.0.0.1']),
  });
  const courses = [
    { title: 'http to memory (tmpfs)', url: nginx.httpUrl, folder: memory },
    { title: 'http to disk (ext4)', url: nginx.httpUrl, folder: disk },
    { title: 'https to memory (tmpfs)', url: nginx.url, folder: memory },
  ];
  try {
    for (const { title, url, folder } of courses) {
      const target = path.join(folder, 'copy.bin');
      const compileCache = path.join(disk, 'compiled');
      const all = await downloaders({ url: `${url}/big.bin`, target, ca, compileCache });
      const variants = all.filter(({ name }) => only.length === 0 || only.includes(name));
      const costs = await interleave(variants, {
        rounds,
        prepare: () => rmSync(target, { force: true }),
        prove: async ({ name }) => {
          if ((await sha256OfFile(target)) !== expected) throw new Error(`${name} brought wrong bytes`);
        },
      });
      console.log(`\n### ${mebibytes} MiB, ${title}, median of ${rounds}\n\n${tableOf(costs)}`);
    }
  } finally {
    await nginx.stop();
  }
}

function tableOf(costs: Map<string, Cost[]>): string {
  const medians = [...costs].map(([name, runs]) => ({
    name,
    wall: median(runs.map(({ wall }) => wall)),
    cpu: median(runs.map(({ cpu }) => cpu)),
  }));
  const base = medians[0] ?? { wall: NaN, cpu: NaN };
  return markdownTable(
    ['', 'wall s', 'CPU s', 'wall × curl', 'CPU × curl'],
    medians.map(({ name, wall, cpu }) => [
      name,
      wall.toFixed(2),
      cpu.toFixed(2),
      (wall / base.wall).toFixed(2),
      (cpu / base.cpu).toFixed(2),
    ]),
  );
}
