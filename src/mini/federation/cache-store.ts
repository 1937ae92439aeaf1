import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { type OriginClient, UpstreamError } from './origin-client.ts';

interface Entry {
  object: CachedObject;
  file: string;
}

/** What one cache keeps. As in the real ones, a name stands for the same bytes until it is evicted. */
export class CacheStore {
  readonly #folder: string;
  readonly #origin: OriginClient;
  readonly #clock: Clock;
  readonly #entries = new Map<string, Promise<Entry>>();

  constructor(folder: string, origin: OriginClient, clock: Clock) {
    this.#folder = folder;
    this.#origin = origin;
    this.#clock = clock;
  }

  /** The object, known from the origin if it was not yet; its bytes come when they are read. */
  async open(objectPath: string, token: string | undefined): Promise<CachedObject> {
    const entry = this.#entries.get(objectPath) ?? this.#learn(objectPath, token);
    this.#entries.set(objectPath, entry);
    try {
      return (await entry).object;
    } catch (error) {
      if (this.#entries.get(objectPath) === entry) this.#entries.delete(objectPath);
      throw error;
    }
  }

  /** The object if this cache knows it, without asking anyone. */
  async peek(objectPath: string): Promise<CachedObject | undefined> {
    return (await this.#entries.get(objectPath)?.catch(() => undefined))?.object;
  }

  /** How the object's bytes are fetched with this client's token. */
  fetcher(objectPath: string, object: CachedObject, token: string | undefined): FetchFrom {
    return async (position) => {
      const range = position === 0 ? {} : { Range: `bytes=${position}-` };
      const statuses = [position === 0 ? 200 : 206];
      const answer = await this.#origin.expect(statuses, 'GET', objectPath, token, range);
      if ((answer.headers.etag ?? '') === object.facts.etag) return answer;
      answer.destroy();
      await this.evict(objectPath);
      throw new UpstreamError(502, 'upstream_connection_error', `${objectPath} changed at the origin`);
    };
  }

  /** Forgets one object. */
  async evict(objectPath: string): Promise<void> {
    const entry = this.#entries.get(objectPath);
    this.#entries.delete(objectPath);
    const known = await entry?.catch(() => undefined);
    // Open answers keep reading the file through its handle, which they find closed: their clients see a cut.
    if (known === undefined) return;
    await known.object.close();
    await rm(known.file, { force: true });
  }

  async clear(): Promise<void> {
    await Promise.all([...this.#entries.keys()].map((objectPath) => this.evict(objectPath)));
  }

  async #learn(objectPath: string, token: string | undefined): Promise<Entry> {
    const { headers } = await this.#origin.expect([200], 'HEAD', objectPath, token, {});
    const facts = {
      size: Number(headers['content-length'] ?? 0),
      etag: headers.etag ?? '',
      modified: new Date(headers['last-modified'] ?? 0),
    };
    const file = path.join(this.#folder, randomUUID());
    return { object: new CachedObject(facts, await open(file, 'wx+', 0o600), this.#clock.now()), file };
  }
}

/** What the origin says of an object, on which all fetched parts must agree. */
interface ObjectFacts {
  size: number;
  etag: string;
  modified: Date;
}

/** Asks the origin for the object's bytes from this position on. */
type FetchFrom = (position: number) => Promise<IncomingMessage>;

interface Filler {
  /** The block it is working on. */
  block: number;
  /** Settles when that block is there or the filler has failed. */
  progress: Promise<void>;
}

const blockSize = 1024 * 1024;
/** A reader waits for a filler that is so many blocks behind, rather than asking the origin again. */
const patience = 16;

/** One object of a cache: blocks in a sparse file, fetched from the origin when somebody needs them. */
export class CachedObject {
  readonly facts: ObjectFacts;
  readonly since: number;
  readonly #file: FileHandle;
  readonly #have: Uint8Array;
  readonly #fillers = new Set<Filler>();

  constructor(facts: ObjectFacts, file: FileHandle, since: number) {
    this.facts = facts;
    this.since = since;
    this.#file = file;
    this.#have = new Uint8Array(Math.ceil(facts.size / blockSize));
  }

  /** Whether the byte at this position is here already. */
  has(position: number): boolean {
    return position >= this.facts.size || this.#have[Math.floor(position / blockSize)] === 1;
  }

  get complete(): boolean {
    return !this.#have.includes(0);
  }

  /** Reads what is there from `position`, after waiting for (and if need be starting) its fill. */
  async read(buffer: Buffer, position: number, fetchFrom: FetchFrom): Promise<number> {
    await this.ensure(position, fetchFrom);
    let end = Math.floor(position / blockSize) * blockSize + blockSize;
    while (end < position + buffer.length && end < this.facts.size && this.has(end)) end += blockSize;
    const length = Math.min(buffer.length, end - position, this.facts.size - position);
    return (await this.#file.read(buffer, 0, length, position)).bytesRead;
  }

  /** Resolves when the byte at this position is here; the fill goes on to the end of the object whoever leaves. */
  async ensure(position: number, fetchFrom: FetchFrom): Promise<void> {
    const block = Math.floor(position / blockSize);
    while (!this.has(position)) {
      const filler = [...this.#fillers].find((each) => each.block <= block && block <= each.block + patience);
      await (filler ?? this.#startFiller(block, fetchFrom)).progress;
    }
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
      const done = resolve;
      expect();
      done(undefined);
      return filler.block < this.#have.length && !this.#isTaken(filler);
    };
    void this.#fill(block * blockSize, fetchFrom, stored).then(
      () => {
        this.#fillers.delete(filler);
        resolve(undefined);
      },
      (error: unknown) => {
        this.#fillers.delete(filler);
        reject(error);
      },
    );
    return filler;
  }

  #isTaken(filler: Filler): boolean {
    if (this.#have[filler.block] === 1) return true;
    return [...this.#fillers].some((other) => other !== filler && other.block === filler.block);
  }

  /** Writes what the origin sends; `stored` is told of each whole block and says whether to go on. */
  async #fill(start: number, fetchFrom: FetchFrom, stored: () => boolean): Promise<void> {
    const answer = await fetchFrom(start);
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
        // Leaving the loop closes the connection to the origin.
        if (!stored()) return;
      }
    }
    throw new Error(`origin ended the object at byte ${position + used} of ${this.facts.size}`);
  }
}
