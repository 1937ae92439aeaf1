import { existsSync, linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { makeCertificateAuthority } from '@updraft/mini/testing';
import { startCache, startOrigin, xrootdVersions, type Xrootd } from '../../test/servers/xrootd.ts';
import { interleave, median, type Variant } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';
import { plainEnvironment, program } from '../peers.ts';
import { scratchFolder, sha256OfFile, writeRandomFile } from '../scratch.ts';
import { countingProxy, type Passed } from './counting-proxy.ts';

const root = path.join(import.meta.dirname, '..', '..');
const fetchOne = path.join(import.meta.dirname, 'fetch-one.ts');
/** Placeholder for the object's URL in a command: a cold object has another name each time. */
const here = '@URL@';

interface Course {
  title: string;
  /** The URL of the object for the next run. */
  nextUrl: () => string;
}

interface Chosen {
  /** Variants to run; all if empty. */
  only: string[];
  /** Another checkout, with its agent built, to measure in the same rounds. */
  beside: string | undefined;
}

/**
 * One object over https from XRootD's cache, with its digest verified: hot, then cold, where each run requests another
 * name. A proxy counts the traffic with the origin.
 */
export async function proven(mebibytes: number, rounds: number, { only, beside }: Chosen): Promise<void> {
  const [memory, disk] = [scratchFolder('memory'), scratchFolder('disk')];
  const published = path.join(disk, 'published');
  mkdirSync(published);
  const big = path.join(published, 'big.bin');
  const expected = writeRandomFile(big, mebibytes);
  const xrootd = await newestXrootd();
  const authority = makeCertificateAuthority('Benchmark', Date.now());
  const at = (name: string) => ({ xrootd, authority, folder: path.join(disk, name) });
  const origin = await startOrigin({ ...at('origin'), root: published });
  const between = await countingProxy(origin.address);
  const cache = await startCache({ ...at('cache'), root: path.join(disk, 'cached') }, between.address);
  const target = path.join(memory, 'copy.bin');
  const ca = path.join(disk, 'origin', 'ca.pem');
  let cold = 0;
  const courses: Course[] = [
    { title: 'hot', nextUrl: () => `${cache.url}/big.bin` },
    {
      title: 'cold',
      nextUrl() {
        linkSync(big, path.join(published, `cold-${++cold}.bin`));
        return `${cache.url}/cold-${cold}.bin`;
      },
    },
  ];
  try {
    await warm(`${cache.url}/big.bin`, ca);
    for (const { title, nextUrl } of courses) {
      const variants = variantsOf({ disk, target, ca, beside });
      const chosen = variants.filter(({ name }) => only.length === 0 || only.includes(name));
      const asked = new Map<string, Passed[]>();
      const costs = await interleave(chosen, {
        rounds,
        prepare() {
          rmSync(target, { force: true });
          writeFileSync(path.join(disk, 'url'), nextUrl());
          between.take();
        },
        async prove({ name }) {
          asked.set(name, [...(asked.get(name) ?? []), between.take()]);
          if ((await sha256OfFile(target)) !== expected) throw new Error(`${name} brought wrong bytes`);
        },
      });
      const load = os.loadavg()[0]?.toFixed(1) ?? '';
      console.log(
        `\n### ${mebibytes} MiB, XRootD's cache, https, ${title}, median of ${rounds}, load ${load}\n`,
      );
      console.log(tableOf(costs, asked, mebibytes * 2 ** 20));
    }
  } finally {
    await cache.stop();
    between.close();
    await origin.stop();
  }
}

/** XRootD from the mini pool's root folder, or else of this machine. */
async function newestXrootd(): Promise<Xrootd> {
  const context = { after: () => undefined, skip: (why: string) => console.error(why) };
  for (const version of Object.values(xrootdVersions).reverse()) {
    const found = await version(context as unknown as TestContext);
    if (found !== undefined) return found;
  }
  throw new Error('there is no XRootD here');
}

async function warm(url: string, ca: string): Promise<void> {
  const curl = { name: 'curl', command: [program('curl'), '-sS', '--cacert', ca, '-o', '/dev/null', url] };
  await interleave([curl], { rounds: 2, prepare: () => undefined, prove: () => undefined });
}

interface Errand {
  disk: string;
  target: string;
  ca: string;
  beside: string | undefined;
}

function variantsOf({ disk, target, ca, beside }: Errand): Variant[] {
  const env = { ...plainEnvironment(path.join(disk, 'compiled')), SSL_CERT_FILE: ca, TMPDIR: disk };
  const ads = [path.join(disk, 'ads.in'), path.join(disk, 'ads.out')] as const;
  const request = `printf '[ Url = "%s"; LocalFileName = "%s" ]' ${here} "$1" > "$2"; exec "$3" -infile "$2" -outfile "$4"`;
  const ours = (checkout: string, suffix: string): Variant[] => {
    const main = path.join(checkout, 'src', 'cli', 'main.ts');
    const agent = path.join(checkout, 'dist', `updraft-agent-linux-${process.arch}`);
    // `npm run build` makes it.
    const executable = path.join(checkout, 'dist', `updraft-linux-${process.arch}`);
    const oneFile = { name: `one file, \`get\`${suffix}`, command: [executable, 'get', here, target], env };
    return [
      { name: `\`updraft get\`${suffix}`, command: [process.execPath, main, 'get', here, target], env },
      ...(existsSync(executable) ? [oneFile] : []),
      {
        name: `plugin${suffix}`,
        command: ['bash', '-c', request, 'bash', target, ads[0], agent, ads[1]],
        env,
      },
    ];
  };
  const aria = ['-q', '--allow-overwrite', '--file-allocation=none', `--ca-certificate=${ca}`, '-d', '/'];
  const unproven = { ...env, UPDRAFT_BENCH_UNPROVEN: '1' };
  const variants: Variant[] = [
    { name: 'curl, no proof', command: [program('curl'), '-sS', '--cacert', ca, '-o', target, here] },
    ...ours(root, ''),
    ...(beside === undefined ? [] : ours(beside, ', before')),
    { name: 'the engine alone', command: [process.execPath, fetchOne, here, target], env },
    { name: 'the engine, no proof', command: [process.execPath, fetchOne, here, target], env: unproven },
    { name: 'aria2c, no proof', command: [program('aria2c', 'aria2'), ...aria, '-o', target, here] },
  ];
  // The URL is read when the run begins.
  const script = `url=$(cat '${path.join(disk, 'url')}'); exec "\${@//${here}/$url}"`;
  return variants.map(({ command, ...rest }) => ({
    ...rest,
    command: ['bash', '-c', script, 'bash', ...command],
  }));
}

type Costs = Awaited<ReturnType<typeof interleave>>;

function tableOf(costs: Costs, asked: Map<string, Passed[]>, size: number): string {
  const medians = [...costs].map(([name, runs]) => ({
    name,
    wall: median(runs.map(({ wall }) => wall)),
    cpu: median(runs.map(({ cpu }) => cpu)),
    bytes: median((asked.get(name) ?? []).map(({ bytes }) => bytes)),
    reads: median((asked.get(name) ?? []).map(({ reads }) => reads)),
  }));
  const base = medians[0] ?? { wall: NaN, cpu: NaN };
  const head = [
    '',
    'wall s',
    'CPU s',
    'wall × curl',
    'CPU × curl',
    'from the origin, × object',
    'reads there',
  ];
  const rows = medians.map(({ name, wall, cpu, bytes, reads }) => [
    name,
    wall.toFixed(2),
    cpu.toFixed(2),
    (wall / base.wall).toFixed(2),
    (cpu / base.cpu).toFixed(2),
    (bytes / size).toFixed(2),
    String(reads),
  ]);
  return markdownTable(head, rows);
}
