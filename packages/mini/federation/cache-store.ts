import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import type { Clock } from '@updraft/base';
import type { SharedContext } from './exchange.ts';
import type { Traits } from './server-traits.ts';
import { readProperties } from './namespace.ts';
import { type OriginClient, UpstreamError } from './origin-client.ts';

interface Entry {
  object: CachedObject;
  file: string;
}

/** How a cache fetches an object: as one stream to its end, or with one request per block. */
export type Fill = 'stream' | 'blocks';

/** What one cache keeps. As in real caches, an object does not change until it is evicted. */
export class CacheStore {
  readonly #folder: string;
  readonly #origin: OriginClient;
  readonly #context: Pick<SharedContext, 'clock' | 'traits'>;
  readonly #entries = new Map<string, Promise<Entry>>();

  constructor(folder: string, origin: OriginClient, context: Pick<SharedContext, 'clock' | 'traits'>) {
    this.#folder = folder;
    this.#origin = origin;
    this.#context = context;
  }

  /** Opens an object, asking the origin for its facts at first; bytes are fetched when read, by `fill` if it is new. */
  async open(objectPath: string, token: string | undefined, fill: Fill): Promise<CachedObject> {
    const entry = this.#entries.get(objectPath) ?? this.#learn(objectPath, token, fill);
    this.#entries.set(objectPath, entry);
    try {
      return (await entry).object;
    } catch (error) {
      if (this.#entries.get(objectPath) === entry) this.#entries.delete(objectPath);
      throw error;
    }
  }

  /** The object if this cache knows it; does not ask the origin. */
  async peek(objectPath: string): Promise<CachedObject | undefined> {
    return (await this.#entries.get(objectPath)?.catch(() => undefined))?.object;
  }

  /** Returns how to fetch the object's bytes with this client's token. */
  fetcher(objectPath: string, object: CachedObject, token: string | undefined): FetchFrom {
    return async (start, end) => {
      const isWhole = start === 0 && end === undefined;
      const range = isWhole ? {} : { Range: `bytes=${start}-${end === undefined ? '' : end - 1}` };
      const answer = await this.#origin.expect([isWhole ? 200 : 206], 'GET', objectPath, token, range);
      if (object.accepts(answer)) return answer;
      answer.destroy();
      await this.evict(objectPath);
      throw new UpstreamError(502, 'upstream_connection_error', `${objectPath} changed at the origin`);
    };
  }

  async evict(objectPath: string): Promise<void> {
    const entry = this.#entries.get(objectPath);
    this.#entries.delete(objectPath);
    const known = await entry?.catch(() => undefined);
    // Open answers keep reading through the handle and find it closed: their clients see a cut.
    if (known === undefined) return;
    await known.object.close();
    await rm(known.file, { force: true });
  }

  async clear(): Promise<void> {
    await Promise.all([...this.#entries.keys()].map((objectPath) => this.evict(objectPath)));
  }

  async #learn(objectPath: string, token: string | undefined, fill: Fill): Promise<Entry> {
    const { clock, traits } = this.#context;
    const facts = await learn(this.#origin, objectPath, token, traits);
    const file = path.join(this.#folder, randomUUID());
    const handle = await open(file, 'wx+', 0o600);
    return { object: new CachedObject(facts, handle, { clock, traits, fill }), file };
  }
}

/** What the origin says about an object; all fetched parts must agree with it. */
interface ObjectFacts {
  size: number;
  etag: string;
  modified: Date;
}

/** An object's facts; throws EISDIR for a folder, unless the origin refuses it first. */
async function learn(
  origin: OriginClient,
  objectPath: string,
  token: string | undefined,
  { learnBy }: Traits,
): Promise<ObjectFacts> {
  if (learnBy === 'PROPFIND') {
    const { isFolder, ...facts } = readProperties(await origin.properties(objectPath, token, '0'));
    if (isFolder) throw Object.assign(new Error(`${objectPath} is a folder`), { code: 'EISDIR' });
    return facts;
  }
  const { headers } = await origin.expect([200], 'HEAD', objectPath, token, {});
  return {
    size: Number(headers['content-length'] ?? 0),
    etag: headers.etag ?? '',
    modified: new Date(headers['last-modified'] ?? 0),
  };
}

/** Asks the origin for the object's bytes from `start` to `end`, or to the end of the object. */
type FetchFrom = (start: number, end?: number) => Promise<IncomingMessage>;

interface Filler {
  /** The block that it is fetching. */
  block: number;
  /** Settles when that block is stored or the filler has failed. */
  progress: Promise<void>;
}

const streamBlock = 1024 * 1024;
/** A reader waits for a filler at most this many blocks behind; otherwise it asks the origin itself. */
const maxBlocksBehind = 16;

/** One object of a cache: blocks in a sparse file, fetched from the origin on demand. */
export class CachedObject {
  readonly facts: ObjectFacts;
  readonly fill: Fill;
  /** When this cache first heard of it. */
  readonly since: number;
  /** When its last byte arrived. */
  completed: number | undefined;
  readonly #clock: Clock;
  readonly #traits: Traits;
  readonly #file: FileHandle;
  readonly #blockSize: number;
  readonly #have: Uint8Array;
  readonly #fillers = new Set<Filler>();
  readonly #found = new Map<string, Promise<string>>();

  constructor(
    facts: ObjectFacts,
    file: FileHandle,
    { clock, traits, fill }: { clock: Clock; traits: Traits; fill: Fill },
  ) {
    this.facts = facts;
    this.fill = fill;
    this.since = clock.now();
    this.#clock = clock;
    this.#traits = traits;
    this.#file = file;
    this.#blockSize = fill === 'blocks' ? traits.blockBytes : streamBlock;
    this.#have = new Uint8Array(Math.ceil(facts.size / this.#blockSize));
    this.#noteProgress();
  }

  has(position: number): boolean {
    return position >= this.facts.size || this.#have[Math.floor(position / this.#blockSize)] === 1;
  }

  /**
   * Whether this answer of the origin is about the known version. Where GET has its own ETag, the first stream sets the
   * object's ETag, so caches may differ in it.
   */
  accepts({ headers }: IncomingMessage): boolean {
    const etag = headers.etag ?? '';
    if (this.#traits.validators === 'get-differs') {
      if (this.fill === 'stream' && !this.#have.includes(1)) this.facts.etag = etag;
      return headers['last-modified'] === this.facts.modified.toUTCString();
    }
    return etag === this.facts.etag;
  }

  /** Reads from `position`, after waiting for its fill, or starting one. */
  async read(buffer: Buffer, position: number, fetchFrom: FetchFrom): Promise<number> {
    await this.ensure(position, fetchFrom);
    let end = (Math.floor(position / this.#blockSize) + 1) * this.#blockSize;
    while (end < position + buffer.length && end < this.facts.size && this.has(end)) end += this.#blockSize;
    const length = Math.min(buffer.length, end - position, this.facts.size - position);
    return (await this.#file.read(buffer, 0, length, position)).bytesRead;
  }

  /** Resolves when the byte at this position is stored; a stream continues to the end even if its client leaves. */
  async ensure(position: number, fetchFrom: FetchFrom): Promise<void> {
    const block = Math.floor(position / this.#blockSize);
    const ahead = this.fill === 'blocks' ? 0 : maxBlocksBehind;
    while (!this.has(position)) {
      const filler = [...this.#fillers].find((each) => each.block <= block && block <= each.block + ahead);
      await (filler ?? this.#startFiller(block, fetchFrom)).progress;
    }
  }

  /** A fact about the object, computed at the first call and kept. */
  once(name: string, compute: () => Promise<string>): Promise<string> {
    const found = this.#found.get(name) ?? compute();
    this.#found.set(name, found);
    return found;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  #startFiller(block: number, fetchFrom: FetchFrom): Filler {
    const filler: Filler = { block, progress: Promise.resolve() };
    let { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const expect = (): void => {
      ({ promise, resolve, reject } = Promise.withResolvers<undefined>());
      promise.catch(() => undefined);
      filler.progress = promise;
    };
    expect();
    this.#fillers.add(filler);
    const stored = (): boolean => {
      this.#have[filler.block] = 1;
      filler.block += 1;
      this.#noteProgress();
      const done = resolve;
      expect();
      done(undefined);
      return filler.block < this.#have.length && !this.#isTaken(filler);
    };
    void this.#fetch(block, fetchFrom, stored)
      .finally(() => this.#fillers.delete(filler))
      .then(
        () => resolve(undefined),
        (error: unknown) => reject(error),
      );
    return filler;
  }

  #isTaken(filler: Filler): boolean {
    if (this.#have[filler.block] === 1) return true;
    return [...this.#fillers].some((other) => other !== filler && other.block === filler.block);
  }

  #noteProgress(): void {
    if (!this.#have.includes(0)) this.completed ??= this.#clock.now();
  }

  /** Writes what the origin sends; calls `stored` after each full block and continues while it returns true. */
  async #fetch(block: number, fetchFrom: FetchFrom, stored: () => boolean): Promise<void> {
    const blockSize = this.#blockSize;
    const start = block * blockSize;
    const end = this.fill === 'blocks' ? Math.min(start + blockSize, this.facts.size) : undefined;
    const answer = await fetchFrom(start, end);
    const buffer = Buffer.allocUnsafe(blockSize);
    let [position, used] = [start, 0];
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      for (let taken = 0; taken < chunk.length;) {
        const length = chunk.copy(buffer, used, taken);
        used += length;
        taken += length;
        if (used < Math.min(blockSize, this.facts.size - position)) continue;
        await this.#file.write(buffer, 0, used, position);
        position += used;
        used = 0;
        // Leaving the loop closes the connection to the origin; after a single block it can be reused.
        if (!stored() && end === undefined) return;
      }
    }
    if (position < (end ?? this.facts.size))
      throw new Error(`the origin ended the object at byte ${position + used} of ${this.facts.size}`);
  }
}
