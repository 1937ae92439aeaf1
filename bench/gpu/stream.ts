import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { defined, isThere } from '@updraft/base';
import { loadPlan } from '../../src/job/load-plan.ts';
import type { Plan } from '../../src/job/plan.ts';
import type { AgentEntry } from '@updraft/account/journal';
import { detectMachine } from '../../src/pool/local/machine.ts';
import type { ListedShard } from '@updraft/pelican/transfer';
import { markdownTable } from '../markdown-table.ts';
import { scratchFolder } from '../scratch.ts';
import type { Dataset } from './datasets.ts';
import { serve } from './federation.ts';
import { trainInMemory } from './in-memory.ts';
import { listShards } from './list-shards.ts';
import { marksOf, paceOf } from './pace.ts';
import { type Seen, type SeenWithAgent, trainWithAgent } from './with-agent.ts';
import type { Workload } from './workloads.ts';

// updraft.Stream and ImageLoader under the agent, against the GPU alone and single files in memory.
const { values } = parseArgs({
  options: {
    agent: { type: 'string', default: 'dist/updraft-agent-linux-x64' },
    only: { type: 'string', multiple: true, default: ['start', 'speed', 'evicted'] },
    tiny: { type: 'boolean', default: false },
    cores: { type: 'string', default: '0-5' },
    /** Compile the model. */
    compile: { type: 'boolean', default: false },
    rate: { type: 'string', default: '120MB/s' },
    rounds: { type: 'string', default: '3' },
    /** What `--only speed` measures. */
    ways: { type: 'string', multiple: true, default: ['alone', 'memory', 'stream', 'disk'] },
    minutes: { type: 'string', default: '10' },
    /** Evict as HTCondor does, which removes the sandbox itself. */
    'as-condor': { type: 'boolean', default: false },
    /** Kept, and used again if it is there. */
    data: { type: 'string' },
    out: { type: 'string', default: 'stream-figures' },
  },
});

const began = performance.now();
const say = (line: string): void =>
  console.error(`${((performance.now() - began) / 1000).toFixed(0)} s: ${line}`);
const [memory, disk] = [scratchFolder('memory'), scratchFolder('disk')];
const isTiny = values.tiny;
await mkdir(values.out, { recursive: true });

/** Images per second from 1 s after the first batch on. */
const speedOf = (seen: Seen): number => {
  const marks = marksOf(seen.lines);
  return paceOf(marks, (marks[0]?.at ?? seen.startedAt) + 1000, seen.endedAt) ?? NaN;
};
const firstBatch = (seen: Seen): number => ((marksOf(seen.lines)[0]?.at ?? NaN) - seen.startedAt) / 1000;
/** Seconds that the training had waited for data when it printed its first batch. */
const waitedFirst = ({ lines }: Seen): number =>
  Number(lines.map(({ text }) => /waited ([\d.]+)/.exec(text)?.[1]).find((waited) => waited !== undefined));
const shown = (value: number, digits = 0): string => value.toFixed(digits);

const size = isTiny
  ? { count: 12, perShard: 20, side: 64, more: '--batch-size 8 --image-size 32 --block 2' }
  : { count: 100, perShard: 800, side: 256, more: `--block 8${values.compile ? ' --compile' : ''}` };
const images = size.count * size.perShard;
const bare = `--bare ${images}`;
const dataset = await makeShards(values.data ?? path.join(memory, 'data'));
const { gpus } = await detectMachine(process.env);
await using federation = await serve([dataset], {
  folder: path.join(memory, 'federation'),
  caches: '1',
  rate: values.rate,
});
const env = { ...process.env, ...federation.env, CUDA_VISIBLE_DEVICES: gpus[0] ?? '' };
await federation.warm(dataset);
say(`${images} images in ${size.count} shards are served at ${values.rate}`);
// Otherwise the first training would pay for reading PyTorch, and its optimizers, from disk.
const ones = 'torch.ones(1, device="cuda" if torch.cuda.is_available() else "cpu")';
spawnSync('python3', ['-c', `import torch, numpy; torch.optim.SGD([${ones}], lr=1)`]);

const report: string[] = [];
if (values.only.includes('start')) await measureStart();
if (values.only.includes('speed')) await measureSpeed();
if (values.only.includes('second')) await measureSecond();
if (values.only.includes('evicted')) await measureEvicted();
console.log(report.join('\n\n'));
await writeFile(path.join(values.out, 'stream.md'), `${report.join('\n\n')}\n`);

/** What PyTorch takes by itself: the same script on one batch of random pixels, without data, workers and agent. */
async function measureStart(): Promise<void> {
  const seen: Seen[] = [];
  for (let round = 0; round < Number(values.rounds); round++) seen.push(await inMemory(1, '--bare 256'));
  const first = seen.map((run) => shown(firstBatch(run), 1)).join(', ');
  const all = seen.map((run) => shown((run.endedAt - run.startedAt) / 1000, 1)).join(', ');
  report.push(
    markdownTable(
      ['PyTorch alone', 's'],
      [
        ['first batch after', first],
        ['ended after', all],
      ],
    ),
  );
}

/** One epoch of the GPU alone, in memory, and on the stream, with all and a third of the data on disk, by turns. */
async function measureSpeed(): Promise<void> {
  const keep = `data.train.keep=${(dataset.bytes / 3e6).toFixed(1)} MB`;
  const all: Record<string, [string, (round: number) => Promise<Seen>]> = {
    alone: ['the GPU alone', () => inMemory(1, bare)],
    memory: ['in memory', () => inMemory(1)],
    stream: [`stream, while data arrives at ${values.rate}`, (round) => withAgent(`speed-${round}`, '', 1)],
    disk: ['the same, a third of the data on disk', (round) => withAgent(`disk-${round}`, '', 1, [keep])],
  };
  const kinds = values.ways.map((way) => all[way]).filter((kind) => kind !== undefined);
  const rounds: Seen[][] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    const seen: Seen[] = [];
    for (const [, train] of kinds) seen.push(await train(round));
    rounds.push(seen);
  }
  const middle = (of: (round: Seen[]) => number): number => median(rounds.map(of));
  const paceAt = (round: Seen[], index: number): number => speedOf(round[index] as Seen);
  const each = (of: (round: Seen[]) => string): string => rounds.map(of).join(', ');
  report.push(
    markdownTable(
      [
        `one epoch on cores ${values.cores}`,
        'images/s, each',
        'median',
        '÷ the first, each',
        'median',
        'first batch after s',
      ],
      kinds.map(([kind], index) => {
        const ratio = (round: Seen[]): number => paceAt(round, index) / paceAt(round, 0);
        return [
          kind,
          each((round) => shown(paceAt(round, index))),
          shown(middle((round) => paceAt(round, index))),
          each((round) => shown(ratio(round), 3)),
          shown(middle(ratio), 3),
          each((round) => shown(firstBatch(round[index] as Seen), 1)),
        ];
      }),
    ),
  );
}

/** All data there: the second epoch on the stream, and the GPU alone, one after the other. */
async function measureSecond(): Promise<void> {
  const rows: string[][] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    const alone = speedOf(await inMemory(1, bare));
    const { lines, endedAt } = await withAgent(`second-${round}`, '--epochs 2', 1);
    const marks = marksOf(lines).filter(({ epoch }) => epoch === 2);
    const second = paceOf(marks, (marks[0]?.at ?? 0) + 1000, endedAt) ?? NaN;
    rows.push([shown(alone), shown(second), shown(second / alone, 3)]);
  }
  report.push(markdownTable(['the GPU alone', `second epoch, cores ${values.cores}`, '÷'], rows));
}

/** The agent is ended by SIGTERM every minute, and started again in an empty folder. */
async function measureEvicted(): Promise<void> {
  const lifeMs = isTiny ? 12_000 : 60_000;
  const totalMs = isTiny ? 40_000 : Number(values.minutes) * 60_000;
  const attempts: SeenWithAgent[] = [];
  const startedAt = Date.now();
  for (let attempt = 1; Date.now() - startedAt < totalMs; attempt++) {
    attempts.push(await withAgent('evicted', '--epochs 1000', attempt, [], lifeMs));
    const seen = attempts.at(-1) as SeenWithAgent;
    say(`evicted ${attempt}: exit ${seen.exit}, first batch ${shown(firstBatch(seen), 1)} s`);
  }
  // Between attempts, the benchmark copies files and syncs the disk.
  const wall = attempts.reduce((sum, seen) => sum + seen.endedAt - seen.startedAt, 0);
  const marks = attempts.map(({ lines }) => marksOf(lines));
  const useful = marks.reduce((sum, each) => sum + ((each.at(-1)?.at ?? 0) - (each[0]?.at ?? 0)), 0);
  const last = marks.at(-1)?.at(-1);
  const trained = last === undefined ? 0 : (last.epoch - 1) * images + last.seen;
  const typical = median(attempts.map(speedOf));
  report.push(
    markdownTable(
      [`evicted every ${lifeMs / 1000} s for ${shown(wall / 60_000, 1)} min`, ''],
      [
        ['attempts', String(attempts.length)],
        ['first batch after s, each', attempts.map((seen) => shown(firstBatch(seen), 1)).join(', ')],
        [
          'ended after SIGTERM within s, each',
          attempts.map((seen) => shown((seen.endedAt - seen.startedAt - lifeMs) / 1000, 1)).join(', '),
        ],
        ['time between first and last batch of attempts, % of all', shown((100 * useful) / wall, 1)],
        [
          'images that count ÷ images/s between batches × all time, %',
          shown((100 * trained) / ((typical * wall) / 1000), 1),
        ],
        ['images/s between batches, median', shown(typical)],
      ],
    ),
    markdownTable(['an attempt, medians', 's'], breakdown(attempts)),
  );
}

/** Where the seconds of an attempt go that are not spent on batches. */
function breakdown(attempts: SeenWithAgent[]): string[][] {
  const momentOf = ({ journal }: SeenWithAgent, kind: AgentEntry['kind']): number =>
    Date.parse(journal.find((entry) => entry.kind === kind)?.t ?? '');
  const firstMark = ({ lines }: SeenWithAgent): number => marksOf(lines)[0]?.at ?? NaN;
  const lastMark = ({ lines }: SeenWithAgent): number => marksOf(lines).at(-1)?.at ?? NaN;
  const parts: [string, (seen: SeenWithAgent) => number][] = [
    ['the agent starts the training', (seen) => momentOf(seen, 'training-started') - seen.startedAt],
    ['first batch of the training', (seen) => firstMark(seen) - momentOf(seen, 'training-started')],
    ['of it, the wait for its data', (seen) => waitedFirst(seen) * 1000],
    ['last batch printed before SIGTERM', (seen) => (seen.askedAt ?? NaN) - lastMark(seen)],
    ['SIGTERM, end of the training', (seen) => momentOf(seen, 'training-ended') - (seen.askedAt ?? NaN)],
    ['checkpoint kept', (seen) => momentOf(seen, 'agent-ended') - momentOf(seen, 'training-ended')],
    ['end of the agent', (seen) => seen.endedAt - momentOf(seen, 'agent-ended')],
    ['removed by the pool, not counted', ({ removalMs }) => removalMs ?? NaN],
  ];
  return parts.map(([name, msOf]) => [name, shown(median(attempts.map(msOf)) / 1000, 2)]);
}

function median(values: number[]): number {
  const sorted = values.filter(Number.isFinite).toSorted((one, other) => one - other);
  const at = (place: number): number => sorted[Math.floor(place)] ?? NaN;
  return (at((sorted.length - 1) / 2) + at(sorted.length / 2)) / 2;
}

async function withAgent(
  name: string,
  words: string,
  attempt: number,
  set: string[] = [],
  endAfterMs?: number,
): Promise<SeenWithAgent> {
  const plan = await planOf(`train.command=python3 train.py ${size.more} ${words}`, set);
  const asCondor = values['as-condor'] && endAfterMs !== undefined;
  const at = { folder: disk, env, attempt, asCondor, ...defined({ endAfterMs }) };
  const seen = await trainWithAgent(workload(name), plan, path.resolve(values.agent), at);
  spawnSync('sync');
  await writeFile(path.join(values.out, `${name}-${attempt}.json`), JSON.stringify(seen.journal));
  say(`${name}: exit ${seen.exit}, ${shown(speedOf(seen))} images/s`);
  return seen;
}

async function inMemory(epochs: number, from = `--files ${dataset.unpacked}`): Promise<Seen> {
  const words = `${from} --epochs ${epochs}`;
  const plan = await planOf(`train.command=python3 train.py ${size.more} ${words}`, []);
  const seen = await trainInMemory(workload('memory'), plan, undefined, { folder: memory, env });
  say(`memory: exit ${seen.exit}, ${shown(speedOf(seen))} images/s`);
  return seen;
}

function workload(name: string): Workload {
  return {
    name: `stream-${name}`,
    example: '',
    set: [],
    tiny: [],
    ...(isTiny ? {} : { cores: values.cores }),
  };
}

async function planOf(command: string, set: string[]): Promise<Plan> {
  const folder = path.join(memory, 'job');
  await mkdir(folder, { recursive: true });
  for (const name of ['train.py', 'updraft.toml'])
    await cp(path.join('bench/gpu/stream', name), path.join(folder, name));
  for (const name of ['images.py', 'resnet50.py'])
    await cp(path.join('examples/imagenet-resnet50', name), path.join(folder, name));
  const tiny = isTiny ? ['resources.gpus=0', 'resources.memory=2 GB', 'resources.disk=1 GB'] : [];
  return await loadPlan(folder, { set: [command, ...set, ...tiny] });
}

async function makeShards(folder: string): Promise<Dataset & { bytes: number }> {
  const [published, unpacked] = [path.join(folder, 'shards'), path.join(folder, 'files')];
  const list = path.join(published, 'train.shards.json');
  if (!(await isThere(list))) {
    const words = [`--count=${size.count}`, `--per-shard=${size.perShard}`, `--side=${size.side}`];
    const maker = spawn('python3', ['bench/gpu/stream/make_shards.py', published, unpacked, ...words], {
      stdio: 'inherit',
    });
    const [code] = (await once(maker, 'close')) as [number | null];
    if (code !== 0) throw new Error(`the shards could not be made (${code})`);
    await listShards(published, path.basename(list));
  }
  const { shards } = JSON.parse(await readFile(list, 'utf8')) as { shards: ListedShard[] };
  const bytes = shards.reduce((sum, { manifest }) => sum + manifest.bytes, 0);
  say(`${shards.length} shards, ${(bytes / 1e9).toFixed(2)} GB`);
  return {
    prefixes: ['/updraft/stream'],
    published,
    objects: await readdir(published),
    unpacked,
    sent: [],
    bytes,
  };
}
