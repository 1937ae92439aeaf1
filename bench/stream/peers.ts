import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { cp, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { walkFiles } from '@updraft/base/disk';
import { loadPlan } from '../../src/job/load-plan.ts';
import { cpuBy } from '../gpu/cpu-meter.ts';
import { listShards } from '../gpu/list-shards.ts';
import { trainWithAgent } from '../gpu/with-agent.ts';
import { median, shuffled } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';
import { scratchFolder } from '../scratch.ts';

// updraft.Stream, webdataset, litdata and mosaicml-streaming on the same images, in turns.
const { values } = parseArgs({
  options: {
    /** One that has the peers: `pip install webdataset litdata mosaicml-streaming`. */
    python: { type: 'string', default: 'python3' },
    agent: { type: 'string', default: 'dist/updraft-agent-linux-x64' },
    only: { type: 'string', multiple: true, default: ['reading', 'resuming', 'trouble', 'budgets'] },
    rounds: { type: 'string', default: '5' },
    images: { type: 'string', default: '8000' },
    /** A run that takes longer counts as one that does not end. */
    limit: { type: 'string', default: '60' },
  },
});

interface Reading {
  numbers: number[];
  seconds?: number;
  first?: number;
  cpu?: number;
  check?: number;
  /** From the start of the process, or of the agent, to its end, in seconds. */
  whole: number;
  /** Why there is no more. */
  failed?: string;
}

const home = scratchFolder('disk');
const at = (...parts: string[]): string => path.join(home, ...parts);
const script = path.resolve(import.meta.dirname, 'peers.py');
const env = { ...process.env, PYTHONPATH: path.resolve('python'), PYTHONWARNINGS: 'ignore' };
const limitMs = Number(values.limit) * 1000;
const peers = { updraft: 'shards', webdataset: 'shards', litdata: 'litdata', 'mosaicml-streaming': 'mds' };
type Peer = keyof typeof peers;
const names = Object.keys(peers) as Peer[];

const made = JSON.parse((await python(['make', at(), '--images', values.images])).out) as {
  images: number;
  bytes: number;
  check: number;
};
await listShards(at('shards'), 'train.shards.json');
const shards = (await readdir(at('shards'))).filter((name) => name.endsWith('.tar')).sort();

/** What the server does to the first answer that has the middle of the third shard. */
type Trouble = 'none' | 'stall' | 'wrong byte' | 'cut off';
let trouble: Trouble = 'none';
let jobs = 0;
const server = http.createServer(answer).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const report: string[] = [
  `${made.images} images, ${(made.bytes / 1e6).toFixed(0)} MB, ${shards.length} shards; ${os.cpus().length} cores, load ${os
    .loadavg()
    .map((one) => one.toFixed(1))
    .join(', ')}; ${values.rounds} rounds`,
];
if (values.only.includes('reading')) await compareReading();
if (values.only.includes('resuming')) await compareResuming();
if (values.only.includes('trouble')) await compareTrouble();
if (values.only.includes('budgets')) await compareBudgets();
console.log(report.join('\n\n'));
server.closeAllConnections();
server.close();

/** An epoch from the local disk, and over http where a reader can. */
async function compareReading(): Promise<void> {
  const ways: [string, () => Promise<Reading>][] = [
    ...names.map((peer): [string, () => Promise<Reading>] => [
      `${peer}, local`,
      async () => {
        await rm(at('shards', '.stream'), { recursive: true, force: true });
        return await read(peer, at(peers[peer]));
      },
    ]),
    ['updraft with its agent, http', () => withAgent('')],
    ['webdataset, http', () => overHttp()],
  ];
  const seen = new Map<string, Reading[]>(ways.map(([name]) => [name, []]));
  for (let round = 0; round < Number(values.rounds); round++)
    for (const [name, run] of shuffled(ways)) {
      const reading = await run();
      if (reading.check !== made.check) throw new Error(`${name}: ${reading.failed ?? 'other images'}`);
      seen.get(name)?.push(reading);
    }
  const rows = [...seen].map(([name, all]) => [
    name,
    spread(all.map(({ numbers, seconds = NaN }) => numbers.length / seconds)),
    spread(all.map(({ cpu = NaN, numbers }) => (1e6 * cpu) / numbers.length)),
    spread(
      all.map(({ first = NaN }) => first),
      2,
    ),
    spread(
      all.map(({ whole }) => whole),
      1,
    ),
  ]);
  report.push(
    markdownTable(
      ['one epoch, 2 workers', 'samples/s', 'CPU, µs a sample', 'first batch, s', 'all, with imports, s'],
      rows,
    ),
  );
}

/** Ended after a third of the epoch, and started again. */
async function compareResuming(): Promise<void> {
  const stop = Math.floor(made.images / 64 / 3);
  const rows = new Map<Peer, string[]>();
  const firsts = new Map<Peer, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < Number(values.rounds); round++)
    for (const peer of shuffled(names)) {
      const state = at(`state-${peer}-${round}`);
      const checkpoint = { ...env, UPDRAFT_CHECKPOINT: state };
      const words = ['--state', peer === 'updraft' ? 'resumed' : state];
      const before = await read(peer, at(peers[peer]), [...words, '--stop-after', String(stop)], checkpoint);
      const after = await read(peer, at(peers[peer]), words, checkpoint);
      const undisturbed = await read(peer, at(peers[peer]));
      const failed = [before, after, undisturbed].flatMap((one) => one.failed ?? []);
      if (failed.length > 0) throw new Error(`${peer}: ${failed.join('; ')}`);
      const both = [...before.numbers, ...after.numbers];
      firsts.get(peer)?.push(after.first ?? NaN);
      const lost = made.images - new Set(both).size;
      const isSame = both.join() === undisturbed.numbers.join();
      if (rows.get(peer)?.[2] !== 'no')
        rows.set(peer, [String(lost), String(both.length - new Set(both).size), isSame ? 'yes' : 'no']);
    }
  const shown = names.map((peer) => [peer, spread(firsts.get(peer) ?? [], 2), ...(rows.get(peer) ?? [])]);
  report.push(
    markdownTable(
      ['resumed', 'first batch, s', 'samples lost', 'twice', 'order of an undisturbed one'],
      shown,
    ),
  );
}

/** Who notices. Those that cannot read over http get a folder with the same damage. */
async function compareTrouble(): Promise<void> {
  const rows: string[][] = [];
  for (const kind of ['stall', 'wrong byte', 'cut off'] as const) {
    trouble = kind;
    rows.push([`updraft with its agent, http: ${kind}`, verdict(await withAgent(''))]);
    trouble = kind;
    rows.push([`webdataset, http: ${kind}`, verdict(await overHttp())]);
    trouble = 'none';
    if (kind === 'stall') continue;
    for (const [peer, more] of [
      ['litdata', []],
      ['mosaicml-streaming', []],
      ['mosaicml-streaming', ['--hash', 'xxh64']],
    ] as const) {
      const remote = await damaged(peer, kind);
      const reading = await read(peer, at('cache'), ['--remote', remote, ...more]);
      rows.push([`${[peer, ...more].join(' ')}, folder: ${kind}`, verdict(reading)]);
      await rm(at('cache'), { recursive: true, force: true });
    }
  }
  report.push(markdownTable(['trouble in one shard', 'what came of it'], rows));
}

/** With room for a third of the data, where a reader has such a limit. */
async function compareBudgets(): Promise<void> {
  const keep = Math.round(made.bytes / 3e6);
  const rows: string[][] = [];
  for (const peer of ['litdata', 'mosaicml-streaming'] as const) {
    const peak = watchSize(at('cache'));
    const words = ['--remote', at(peers[peer]), '--keep', `${keep}MB`];
    const reading = await read(peer, at('cache'), words);
    rows.push([peer, (await peak()).toFixed(0), verdict(reading)]);
    await rm(at('cache'), { recursive: true, force: true });
  }
  const peak = watchSize(at(`scratch-job-${jobs + 1}`));
  const reading = await withAgent(`keep = "${keep} MB"`);
  rows.unshift(['updraft with its agent', (await peak()).toFixed(0), verdict(reading)]);
  report.push(markdownTable([`limit of ${keep} MB`, 'most on disk, MB', 'what came of it'], rows));
}

function verdict({ check, numbers, seconds = NaN, failed }: Reading): string {
  const took = `${seconds.toFixed(1)} s`;
  if (failed !== undefined) return failed;
  if (check === made.check) return `all images are right, ${took}`;
  const missing = made.images - new Set(numbers).size;
  return `**not noticed**: ${missing === 0 ? 'a wrong image' : `${missing} images are missing`}, ${took}`;
}

async function read(peer: Peer, folder: string, words: string[] = [], more = env): Promise<Reading> {
  const began = performance.now();
  const { out, err, code } = await python(['read', peer, folder, ...words], more);
  return { ...parsed(out.trim().split('\n'), code, err), whole: (performance.now() - began) / 1000 };
}

function overHttp(): Promise<Reading> {
  return read('webdataset', '.', ['--urls', `${url}/train-%04d.tar`, '--shards', String(shards.length)]);
}

function parsed(lines: string[], code: number | null, err: string): Omit<Reading, 'whole'> {
  const line = lines.findLast((one) => one.startsWith('{"numbers"'));
  const why =
    err
      .trim()
      .split('\n')
      .findLast((one) => /^\S*(?:Error|Exception)\b/.test(one)) ?? '';
  const ended = code === null ? `does not end within ${values.limit} s` : `exit ${code}`;
  const isDone = line !== undefined && [0, 85].includes(code ?? -1);
  const failed = isDone ? {} : { failed: `${ended}: ${why}`.slice(0, 160).replace(/: $/, '') };
  return { ...(JSON.parse(line ?? '{"numbers":[]}') as Reading), ...failed };
}

async function python(
  words: string[],
  more: NodeJS.ProcessEnv = env,
): Promise<{ out: string; err: string; code: number | null }> {
  const child = spawn(values.python, [script, ...words], { env: more, cwd: home, detached: true });
  let [out, err] = ['', ''];
  child.stdout.on('data', (part: Buffer) => (out += part.toString()));
  child.stderr.on('data', (part: Buffer) => (err += part.toString()));
  const killer = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), limitMs);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(killer);
  return { out, err, code };
}

/** As a job, whose shards the agent brings. */
async function withAgent(more: string): Promise<Reading> {
  const job = at('job');
  await mkdir(job, { recursive: true });
  await cp(script, path.join(job, 'peers.py'));
  const list = readFileSync(at('shards', 'train.shards.json'));
  const text = `name = "peers"
[train]
command = "${values.python} peers.py read updraft data | tee read.json"
files = ["peers.py"]
outputs = ["read.json"]
checkpoint = "checkpoints"
[data.train]
url = "${url}/train.shards.json"
sha256 = "${createHash('sha256').update(list).digest('hex')}"
method = "on-demand"
into = "data"
${more}
[resources]
cpus = 2
memory = "4 GB"
disk = "2 GB"
`;
  await writeFile(path.join(job, 'updraft.toml'), text);
  const plan = await loadPlan(job);
  const workload = { name: `job-${++jobs}`, example: '', set: [], tiny: [] };
  const ends = { folder: home, env, endAfterMs: limitMs };
  const seen = await trainWithAgent(workload, plan, path.resolve(values.agent), ends);
  const reading = parsed(
    seen.lines.map((line) => line.text),
    seen.exit,
    '',
  );
  const whole = (seen.endedAt - seen.startedAt) / 1000;
  return {
    ...reading,
    whole,
    ...(reading.cpu !== undefined && { cpu: reading.cpu + cpuBy(seen.cpu, seen.endedAt) }),
  };
}

/** A copy of a peer's data whose third shard has a wrong byte, or ends in its middle. */
async function damaged(peer: 'litdata' | 'mosaicml-streaming', kind: Trouble): Promise<string> {
  const folder = at('damaged');
  await rm(folder, { recursive: true, force: true });
  await cp(at(peers[peer]), folder, { recursive: true });
  const name = peer === 'litdata' ? 'chunk-0-2.bin' : 'shard.00002.mds';
  const bytes = readFileSync(path.join(folder, name));
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  await writeFile(path.join(folder, name), kind === 'cut off' ? bytes.subarray(0, middle) : bytes);
  return folder;
}

/** Polls how many megabytes of shards a folder has, and returns the most. */
function watchSize(folder: string): () => Promise<number> {
  let [most, isOver] = [0, false];
  const watched = (async () => {
    while (!isOver) {
      most = Math.max(most, await sizeOf(folder));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  return async () => {
    isOver = true;
    await watched;
    return most / 1e6;
  };
}

async function sizeOf(folder: string): Promise<number> {
  const found = await walkFiles(folder).catch(() => []);
  const sizes = found
    .filter((name) => /\.(?:tar|bin|mds)/.test(name))
    .map((name) =>
      stat(path.join(folder, name)).then(
        ({ size, blocks }) => Math.min(size, 512 * blocks),
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Serves the shards, with ranges. */
function answer(request: http.IncomingMessage, response: http.ServerResponse): void {
  const file = at('shards', path.basename(request.url ?? ''));
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) {
    response.writeHead(404).end();
    return;
  }
  const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  const [start, end] = [Number(from), to === '' ? size - 1 : Math.min(Number(to), size - 1)];
  const ranged = { 'Content-Range': `bytes ${start}-${end}/${size}` };
  const isPart = request.headers.range !== undefined;
  const headers = { 'Content-Length': end - start + 1, 'Accept-Ranges': 'bytes', ...(isPart && ranged) };
  response.writeHead(isPart ? 206 : 200, headers);
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  const middle = Math.floor(size / 2);
  const hasMiddle = file.endsWith(shards[2] ?? '') && start <= middle && middle <= end;
  if (trouble === 'none' || !hasMiddle) {
    createReadStream(file, { start, end }).pipe(response);
    return;
  }
  const kind = trouble;
  trouble = 'none';
  const bytes = readFileSync(file).subarray(start, end + 1);
  bytes[middle - start] = (bytes[middle - start] ?? 0) ^ 1;
  if (kind === 'wrong byte') response.end(bytes);
  else response.write(bytes.subarray(0, middle - start), () => kind === 'cut off' && response.destroy());
}

function spread(found: number[], digits = 0): string {
  const sorted = found.toSorted((a, b) => a - b);
  const [low = NaN, high = NaN] = [sorted[0], sorted.at(-1)];
  return `${median(found).toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}
