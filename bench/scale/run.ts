import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { bunFor, type Arch } from '../../scripts/bun.ts';
import { startFederation } from '@updraft/mini/federation';
import { markdownTable } from '../markdown-table.ts';
import { measure } from '../measure.ts';
import { plainEnvironment } from '../peers.ts';
import { scratchFolder } from '../scratch.ts';
import { filesPerClass, GeneratedObject } from './generated-object.ts';
import { serveObject } from './serve-object.ts';

/**
 * `npm run bench -- scale [--gigabytes 150] [--node]`: fetches, verifies and unpacks one object, a tar of class tars
 * that the caches generate, on the agent's Bun (or Node), and discards it; one connection is cut.
 */
const { values } = parseArgs({
  options: { gigabytes: { type: 'string', default: '150' }, node: { type: 'boolean', default: false } },
});
const [memory, disk] = [scratchFolder('memory'), scratchFolder('disk')];
const object = new GeneratedObject(Number(values.gigabytes));
const prepared = performance.now();
const manifestFile = path.join(disk, 'manifest.json');
writeFileSync(manifestFile, JSON.stringify(object.manifest()));
const preparedSeconds = (performance.now() - prepared) / 1000;
const published = path.join(disk, 'published');
mkdirSync(published);
const caches = [await serveObject(object), await serveObject(object, object.size / 4)];
const [first] = caches;
const federation = await startFederation({
  namespaces: [{ prefix: '/scale', folder: published, public: true }],
  servers: { origin: first?.url ?? '', caches: caches.map(({ url }) => url) },
  http: true,
  folder: path.join(disk, 'federation'),
});
try {
  const runtime = values.node ? process.execPath : await bunFor(process.arch as Arch);
  const client = path.join(import.meta.dirname, 'unpack-away.ts');
  const url = `pelican://${federation.discoveryHost}/scale/train.tar`;
  const trusts = { SSL_CERT_FILE: federation.caFile };
  const { wall, cpu, succeeded, output } = await measure([runtime, client, url, memory, manifestFile], {
    env: { ...plainEnvironment(path.join(disk, 'compiled')), ...trusts },
    limitSeconds: 4 * 3600,
  });
  if (!succeeded) throw new Error(`the client failed: ${output}`);
  const said = JSON.parse(output.trim().split('\n').at(-1) ?? '') as Said;
  if (said.files !== object.classes * filesPerClass || said.bytes !== object.size)
    throw new Error(`the object is incomplete: ${output}`);
  const cuts = caches.reduce((sum, cache) => sum + cache.cuts(), 0);
  console.log(tableOf(said, { wall, cpu, cuts }));
} finally {
  await federation.stop();
  for (const cache of caches) cache.close();
}

interface Said {
  bytes: number;
  verified: string;
  chunks: number;
  files: number;
  classes: number;
  maxRssBytes: number;
  servers: { server: string; bytes: number }[];
}

function tableOf(said: Said, { wall, cpu, cuts }: { wall: number; cpu: number; cuts: number }): string {
  const gigabytes = said.bytes / 1e9;
  return markdownTable(
    ['', ''],
    [
      ['object, GB', gigabytes.toFixed(2)],
      ['class tars; files unpacked', `${said.classes}; ${said.files}`],
      ['chunks proven, by', `${said.chunks} of ${said.chunks}, ${said.verified}`],
      ['from each cache, GB', said.servers.map(({ bytes }) => (bytes / 1e9).toFixed(2)).join(', ')],
      ['connections cut in the middle', String(cuts)],
      ['wall s', wall.toFixed(1)],
      ['rate, MB/s', (said.bytes / 1e6 / wall).toFixed(0)],
      ['CPU s', cpu.toFixed(1)],
      ['CPU s per GB', (cpu / gigabytes).toFixed(2)],
      ['peak memory, MB', (said.maxRssBytes / 1e6).toFixed(0)],
      ['manifest made in, s (not in the above)', preparedSeconds.toFixed(1)],
    ],
  );
}
