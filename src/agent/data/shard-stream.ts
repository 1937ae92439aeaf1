import {
  statSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  existsSync,
} from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { asFault, Fault } from '@updraft/account/fault';
import { formatSize, type Field, field, listOf, Mismatch, optional, shape, tried } from '@updraft/base';
import { identifyProcess } from '@updraft/base/processes';
import type { OrderedData } from '../../job/job.ts';
import { keepProblem, isOnDemand } from '../../job/on-demand.ts';
import { type Attempt, until } from '../attempt.ts';
import { isLeftToPool } from '../clean-up.ts';
import { openShards, type TarShard, joinTransfers, maxShards, openStaging } from './stage-data.ts';
import type { Scratch } from '../scratch.ts';

/** Readers wait for shards, so what they write is looked at often; it is a handful of small files. */
const pollMs = 50;

type Opened = Awaited<ReturnType<typeof openShards>>;

interface Transfer {
  end: AbortController;
  settled: Promise<void>;
}

/** A data set whose shards come as the training asks for them, and go when others need their place. */
class ShardStream {
  readonly #source: OrderedData;
  readonly #attempt: Attempt;
  readonly #shards: readonly TarShard[];
  readonly #stage: Opened['stage'];
  readonly #folder: string;
  readonly #files: ReaderFiles;
  readonly #joint: ReturnType<typeof joinTransfers>;
  readonly #bytes: number[];
  readonly #present = new Set<number>();
  readonly #arriving = new Map<number, Transfer>();
  #wake = new AbortController();
  #fault: Fault | undefined;
  /** Whether the training can only wait for a shard. */
  isAwaited = false;

  /** Finds the shards, and lists them for the readers. */
  static async open(source: OrderedData, attempt: Attempt): Promise<ShardStream> {
    const { shards, stage } = await openShards(source, attempt);
    return new ShardStream(source, attempt, shards, stage);
  }

  private constructor(source: OrderedData, attempt: Attempt, shards: TarShard[], stage: Opened['stage']) {
    this.#source = source;
    this.#attempt = attempt;
    this.#shards = shards;
    this.#stage = stage;
    this.#folder = path.join(attempt.scratch.work, source.into);
    this.#files = new ReaderFiles(this.#folder, hintFile(source, attempt));
    this.#joint = joinTransfers(source.url, attempt);
    this.#bytes = shards.map(({ bytes }) => bytes);
    checkKeep(source, this.#bytes);
    this.#findPresent();
    const listed = shards.map(({ name, bytes, samples }) => ({ name, bytes, samples }));
    this.#files.publish({ shards: listed, keep: source.keepBytes ?? null });
  }

  /** Seconds that the training has waited for shards since its start; undefined while no reader has said. */
  get waited(): number | undefined {
    return this.#files.waited;
  }

  /** The training starts again: its readers count from zero. */
  restart(): void {
    this.#files.restart();
  }

  /** Brings shards until `ended`; throws if one cannot be brought. */
  async run(ended: AbortSignal): Promise<void> {
    let seen: string | undefined;
    this.restart();
    for (const signal of [ended, this.#attempt.context.signal])
      signal.addEventListener('abort', () => this.#wake.abort(), { once: true });
    this.#wake.abort();
    while (!ended.aborted && this.#fault === undefined) {
      const wish = this.#files.poll();
      if (wish?.version !== seen || this.#wake.signal.aborted) {
        seen = wish?.version;
        this.#wake = new AbortController();
        await this.#bring(wish);
      }
      await this.#attempt.context.clock.sleep(pollMs, this.#wake.signal).catch(() => undefined);
    }
    await Promise.all(this.#arriving.values().map(drop));
    if (this.#fault !== undefined) throw this.#fault;
    this.#joint.done();
  }

  async #bring(wish: Wish | undefined): Promise<void> {
    const { keepBytes = Infinity } = this.#source;
    const wanted = wish?.order.slice(wish.position) ?? this.#shards.keys().toArray();
    const order = wanted.filter((shard) => shard < this.#shards.length);
    const block = wish?.block ?? 0;
    const now = { bytes: this.#bytes, keep: keepBytes, order, block };
    const needed = blockBytes(now);
    if (needed > keepBytes) this.#fail(blockTooLarge(this.#source, block, needed));
    const arriving = new Set(this.#arriving.keys());
    const { context } = this.#attempt;
    const isEnding = wish !== undefined && context.signal.aborted && !isLeftToPool(context);
    const next = nextShards({ ...now, present: this.#present, arriving, lanes: maxShards, isEnding });
    this.isAwaited = next.isAwaited;
    await Promise.all(next.remove.map((shard) => this.#remove(shard)));
    for (const shard of next.bring) this.#arriving.set(shard, this.#fetch(shard));
  }

  /** After a pause, what came before it is still there. */
  #findPresent(): void {
    for (const [shard, { bytes }] of this.#shards.entries()) {
      const found = statSync(this.#fileOf(shard), { throwIfNoEntry: false });
      if (found?.size === bytes) this.#present.add(shard);
    }
  }

  async #remove(shard: number): Promise<void> {
    const transfer = this.#arriving.get(shard);
    if (transfer !== undefined) {
      await drop(transfer);
      // Its part would take place that the budget does not count.
      const { stage } = this.#attempt.scratch;
      const drafts = (await readdir(stage)).filter((name) => name.startsWith(this.#draftOf(shard)));
      await Promise.all(drafts.map((name) => rm(path.join(stage, name), { force: true })));
    }
    this.#present.delete(shard);
    // On a busy disk this may take long: other transfers, and asking how the training is, continue meanwhile.
    await rm(this.#fileOf(shard), { force: true });
  }

  #fetch(index: number): Transfer {
    const shard = this.#shards[index] as TarShard;
    const end = new AbortController();
    const { record, onEvent } = this.#joint.of(shard.name);
    const context = { ...this.#attempt.context, signal: end.signal };
    const settled = this.#stage(shard, this.#draftOf(index), { ...this.#attempt, record, context }, onEvent)
      .then(
        () => {
          this.#present.add(index);
        },
        (error: unknown) => {
          if (!end.signal.aborted) this.#fail(asFault(error));
        },
      )
      .finally(() => {
        this.#arriving.delete(index);
        this.#wake.abort();
      });
    return { end, settled };
  }

  #fail(fault: Fault): void {
    this.#fault ??= fault;
    this.#wake.abort();
  }

  #draftOf(shard: number): string {
    return `${this.#source.name}.${shard}.tar`;
  }

  #fileOf(shard: number): string {
    return path.join(this.#folder, this.#shards[shard]?.name ?? '');
  }
}

async function drop({ end, settled }: Transfer): Promise<void> {
  end.abort(new Fault('interrupted', 'the shard is no longer needed'));
  await settled;
}

function checkKeep({ name, url, keepBytes = Infinity }: OrderedData, bytes: readonly number[]): void {
  const problem = keepProblem(
    keepBytes,
    bytes.reduce((max, each) => Math.max(max, each), 0),
  );
  if (problem === undefined) return;
  throw new Fault('expect-wrong', `data.${name}: ${problem.message}`, { about: url, fix: problem.fix });
}

function blockTooLarge({ name, url, keepBytes = 0 }: OrderedData, block: number, needed: number): Fault {
  return new Fault(
    'expect-wrong',
    `data.${name}: ${block} shards that are shuffled together take ` +
      `${formatSize(needed)}, but keep = "${formatSize(keepBytes)}"`,
    {
      about: url,
      fix: `write keep = "${formatSize(2 * needed)}" in [data.${name}], or shuffle fewer shards together`,
    },
  );
}

/** In its checkpoint, `updraft.Stream` leaves what it will want when it resumes. */
function hintFile({ into }: OrderedData, { order, scratch }: Attempt): string | undefined {
  const { checkpoint } = order.job.train;
  if (checkpoint === undefined) return undefined;
  return path.join(scratch.work, checkpoint, `stream-${path.basename(into)}.json`);
}
/** What is known about the shards of a data set, and about the readers that use them. */
export interface ShardsNow {
  /** The size of each shard. */
  bytes: readonly number[];
  /** The disk that shards may take. */
  keep: number;
  /** Numbers of shards, in the order in which they are used from now on; a shard of the next epoch comes again. */
  order: readonly number[];
  /** How many shards readers use together. */
  block: number;
  present: ReadonlySet<number>;
  /** Shards that are being fetched. */
  arriving: ReadonlySet<number>;
  /** How many are fetched at a time. */
  lanes: number;
  /** The training was asked to end: what it does not use soon only has to be removed. */
  isEnding?: boolean;
}

interface NextShards {
  bring: number[];
  /** Shards on disk to remove, and transfers to end, to make room for them. */
  remove: number[];
  /** What readers use next is not here yet. */
  isAwaited: boolean;
}

/**
 * Which shards to fetch next, and which to give up for them. The next two blocks come first: for them goes what is used
 * furthest in the future, so that much of it is still there in the next epoch. What is used later only fills free
 * space.
 */
export function nextShards(now: ShardsNow): NextShards {
  const { order, block, present, arriving, keep, lanes, isEnding = false } = now;
  const nextUse = new Map<number, number>();
  for (const [place, shard] of order.entries()) if (!nextUse.has(shard)) nextUse.set(shard, place);
  const isSoon = (shard: number): boolean => (nextUse.get(shard) ?? Infinity) < 2 * block;
  const sizeOf = (shard: number): number => now.bytes[shard] ?? 0;
  const held = new Set([...present, ...arriving]);
  // Last used, first removed.
  const removable = [...held]
    .filter((shard) => !isSoon(shard))
    .sort((a, b) => (nextUse.get(a) ?? Infinity) - (nextUse.get(b) ?? Infinity));
  let used = [...held].reduce((sum, shard) => sum + sizeOf(shard), 0);
  let free = lanes - arriving.size;
  const bring: number[] = [];
  const remove: number[] = [];
  for (const shard of nextUse.keys()) {
    if (held.has(shard)) continue;
    if (isEnding && !isSoon(shard)) break;
    const size = sizeOf(shard);
    while (isSoon(shard) && (free === 0 || used + size > keep)) {
      const index = removable.findLastIndex((each) => free > 0 || arriving.has(each));
      const [victim] = index < 0 ? [] : removable.splice(index, 1);
      if (victim === undefined) break;
      remove.push(victim);
      used -= sizeOf(victim);
      if (arriving.has(victim)) free += 1;
    }
    if (free === 0 || used + size > keep) break;
    bring.push(shard);
    used += size;
    free -= 1;
  }
  if (isEnding) remove.push(...removable);
  const isAwaited = order.slice(0, block).some((shard) => !present.has(shard));
  return { bring, remove, isAwaited };
}

/** What the shards of the current block take together: the budget must hold them. */
export function blockBytes({ bytes, order, block }: Pick<ShardsNow, 'bytes' | 'order' | 'block'>): number {
  return [...new Set(order.slice(0, block))].reduce((sum, shard) => sum + (bytes[shard] ?? 0), 0);
}

/** What readers ask for. */
interface Wanted {
  epoch: number;
  /** Numbers of shards in the order of their use, from where the reader is. */
  order: number[];
  /** How many of them are used together. */
  block: number;
}

/** How far one reader is. */
interface ReaderPosition {
  epoch: number;
  /** It needs what is in the order from this place on. */
  position: number;
  /** Seconds it has waited for shards. */
  waited: number;
  pid?: number;
}

/** What the training's readers want from now on. */
interface Wish extends Pick<Wanted, 'order' | 'block'> {
  /** The lowest place in the order that a reader still needs. */
  position: number;
  /** Differs whenever any of it does. */
  version: string;
}

const count = field<number>(
  'a whole number from 0 up',
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
);
const seconds = field<number>('a number from 0 up', (value) => typeof value === 'number' && value >= 0);
const wanted = shape<Wanted>({ epoch: count, order: listOf(count), block: count });
const position = shape<ReaderPosition>({
  epoch: count,
  position: count,
  waited: seconds,
  pid: optional(count),
});

/** In polls: about once a second. */
const aliveEvery = 20;

/**
 * The files through which the agent and the readers of a data set speak, in `.stream` in its folder: the agent writes
 * `list.json`; readers write `wanted.json`, and each its place into `at/`. Every file appears by one rename.
 */
export class ReaderFiles {
  readonly #folder: string;
  #wanted: Wanted | undefined;
  #wantedAs = '';
  readonly #hint: string | undefined;
  readonly #readers = new Map<string, ReaderPosition & { version: string; isAlive: boolean }>();
  #polls = 0;
  readonly #waits = new ReaderWaits();

  /** `hint` names a file like `wanted.json`, from which a resumed training's wish is known before its readers start. */
  constructor(dataFolder: string, hint?: string) {
    this.#folder = path.join(dataFolder, '.stream');
    this.#hint = hint;
  }

  /** Lists the shards for the readers, before the training starts. */
  publish(list: object): void {
    for (const part of ['at', 'index']) mkdirSync(this.#at(part), { recursive: true });
    writeFileSync(this.#at('list.json.new'), `${JSON.stringify({ format: 1, ...list })}\n`);
    renameSync(this.#at('list.json.new'), this.#at('list.json'));
  }

  /** The training starts: what earlier readers said no longer counts. */
  restart(): void {
    this.#waits.clear();
    this.#readers.clear();
    for (const name of readers(this.#at('at'))) rmSync(this.#at('at', name), { force: true });
    rmSync(this.#at('wanted.json'), { force: true });
    this.#wanted = this.#hint === undefined ? undefined : readJson(this.#hint, wanted);
    this.#wantedAs = '';
  }

  /** Seconds that the training has waited for shards; undefined while no reader has said. */
  get waited(): number | undefined {
    return this.#waits.total;
  }

  /** Undefined while nobody has said what is wanted. */
  poll(): Wish | undefined {
    this.#readWanted();
    this.#readPositions();
    if (this.#wanted === undefined) return undefined;
    const { epoch, order, block } = this.#wanted;
    const current = [...this.#readers.values()].filter((reader) => reader.epoch === epoch);
    const living = current.filter(({ isAlive }) => isAlive);
    // Where none lives, their process IDs are those of another container.
    const places = (living.length > 0 ? living : current).map((reader) => reader.position);
    const lowest = places.length === 0 ? 0 : Math.min(...places);
    return { order, block: Math.max(1, block), position: lowest, version: `${this.#wantedAs} ${lowest}` };
  }

  #readWanted(): void {
    const file = this.#at('wanted.json');
    const version = versionOf(file);
    if (version === this.#wantedAs) return;
    this.#wantedAs = version;
    this.#wanted = readJson(file, wanted) ?? this.#wanted;
  }

  /** Reads what is new. Whether its process lives is asked less often: that costs more than the rest. */
  #readPositions(): void {
    this.#polls += 1;
    const names = readers(this.#at('at'));
    for (const name of this.#readers.keys()) if (!names.includes(name)) this.#readers.delete(name);
    for (const name of names) {
      const known = this.#readers.get(name);
      const version = versionOf(this.#at('at', name));
      if (known?.version === version && this.#polls % aliveEvery !== 0) continue;
      const reader = readJson(this.#at('at', name), position);
      if (reader === undefined) continue;
      this.#waits.add(name, reader);
      const isAlive = reader.pid !== undefined && identifyProcess(reader.pid) !== undefined;
      this.#readers.set(name, { ...reader, version, isAlive });
    }
  }

  #at(...names: string[]): string {
    return path.join(this.#folder, ...names);
  }
}

/** How long readers have waited. They read side by side: of each epoch, the longest wait counts. */
class ReaderWaits {
  readonly #ofReader = new Map<string, { epoch: number; waited: number; before: number }>();
  readonly #ofEpoch = new Map<number, number>();

  get total(): number | undefined {
    return this.#ofEpoch.size === 0 ? undefined : this.#ofEpoch.values().reduce((sum, each) => sum + each, 0);
  }

  clear(): void {
    this.#ofReader.clear();
    this.#ofEpoch.clear();
  }

  /** A reader counts from its own start on, over all its epochs. */
  add(name: string, { epoch, waited }: Pick<ReaderPosition, 'epoch' | 'waited'>): void {
    const known = this.#ofReader.get(name);
    const before = known === undefined ? 0 : known.epoch === epoch ? known.before : known.waited;
    this.#ofReader.set(name, { epoch, waited, before });
    const grown = waited - (before > waited ? 0 : before);
    this.#ofEpoch.set(epoch, Math.max(grown, this.#ofEpoch.get(epoch) ?? 0));
  }
}

/** Changes when a file is replaced; empty if there is none. */
function versionOf(file: string): string {
  const info = statSync(file, { throwIfNoEntry: false, bigint: true });
  return info === undefined ? '' : `${info.ino} ${info.mtimeNs}`;
}

const readers = (folder: string): string[] =>
  tried(() => readdirSync(folder).filter((name) => /^[^.].*\.json$/.test(name))) ?? [];

/** A file that is gone, or that is none of ours, says nothing. */
function readJson<T>(file: string, read: Field<T>): T | undefined {
  const value = tried(() => read(JSON.parse(readFileSync(file, 'utf8'))));
  return value instanceof Mismatch ? undefined : value;
}

/** Data that is still arriving while the training runs. */
export interface ArrivingData {
  /** The attempt for the training: it is asked to end, with the data's fault, if fetching fails. */
  attempt: Attempt;
  /** Waits until everything has arrived and is verified; throws if something is wrong. Ends what comes on demand. */
  complete(): Promise<void>;
  /** Stops fetching. */
  stop(): Promise<void>;
}

/**
 * Starts to fetch the sources marked `arriving`, and those that come on demand. Returns when the first part is there,
 * and the training can ask for shards; what they are is found out while the checkpoint is `restored`, which names them.
 */
export async function startArrivingData(
  attempt: Attempt,
  restored: Promise<void>,
  sources: readonly OrderedData[] = attempt.order.data,
): Promise<ArrivingData> {
  const { record } = attempt;
  const arriving = sources.filter((source) => source.arriving);
  const onDemand = sources.filter(isOnDemand);
  const [failed, stopped, ended] = [new AbortController(), new AbortController(), new AbortController()];
  const first = Promise.withResolvers<undefined>();
  let [isTraining, isDone] = [false, false];
  const fetching: Attempt = {
    ...until(attempt, stopped.signal),
    // Once the training runs, its phase is the attempt's.
    record: (body) => {
      if (body.kind !== 'phase' || !isTraining) record(body);
    },
  };
  const opened = onDemand.map((source) => ShardStream.open(source, fetching));
  const [, ...streams] = await Promise.all([restored, ...opened]).catch(async (error: unknown) => {
    stopped.abort();
    await Promise.allSettled([restored, ...opened]);
    throw error;
  });
  const rest = fetchAll(arriving, fetching, () => first.resolve(undefined));
  rest.then(
    () => (isDone = true),
    () => undefined,
  );
  // A training that is asked to end may need a shard to reach its next checkpoint.
  const all = Promise.all([rest, ...streams.map((stream) => stream.run(ended.signal))]);
  all.catch((error: unknown) => failed.abort(asFault(error)));
  await Promise.race([arriving.length === 0 ? undefined : first.promise, all]);
  isTraining = true;
  return {
    attempt: { ...until(attempt, failed.signal), streams },
    async complete() {
      ended.abort();
      if (!isDone) record({ kind: 'phase', phase: 'fetching' });
      await all;
    },
    async stop() {
      stopped.abort();
      ended.abort();
      await all.catch(() => undefined);
    },
  };
}

/** Whether more is to come of data that the training has started with, or it waits for what it asked for. */
export function isArriving({ order, scratch, streams = [] }: Attempt): boolean {
  return (
    streams.some(({ isAwaited }) => isAwaited) ||
    order.data.some((source) => source.arriving && existsSync(markerOf(source, scratch)))
  );
}

/** This file is in the data's folder as long as more is to come. */
const markerOf = ({ into }: OrderedData, { work }: Scratch): string => path.join(work, into, '.arriving');

async function fetchAll(
  sources: readonly OrderedData[],
  attempt: Attempt,
  onPart: () => void,
): Promise<void> {
  const { scratch } = attempt;
  for (const marker of sources.map((source) => markerOf(source, scratch))) {
    mkdirSync(path.dirname(marker), { recursive: true });
    writeFileSync(marker, '');
  }
  const stage = openStaging(attempt);
  for (const source of sources) {
    await stage(source, onPart);
    rmSync(markerOf(source, scratch));
  }
}
