import { statSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { asFault, Fault } from '../../fault/fault.ts';
import type { OrderedData } from '../../job/job.ts';
import { keepProblem } from '../../job/on-demand.ts';
import { formatSize } from '@updraft/base';
import type { Attempt } from '../attempt.ts';
import { isLeftToPool } from '../clean-up.ts';
import { blockBytes, nextShards } from './next-shards.ts';
import { ReaderFiles, type Wish } from './reader-files.ts';
import { openShards, type TarShard } from './stage-data.ts';
import { joinTransfers, maxShards } from './stage-shards.ts';

/** Readers wait for shards, so what they write is looked at often; it is a handful of small files. */
const pollMs = 50;

type Opened = Awaited<ReturnType<typeof openShards>>;

interface Transfer {
  end: AbortController;
  settled: Promise<void>;
}

/** A data set whose shards come as the training asks for them, and go when others need their place. */
export class ShardStream {
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
    `data.${name}: ${block} shards that are shuffled together take ${formatSize(needed)}, but keep = "${formatSize(keepBytes)}"`,
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
