import type { IncomingMessage } from 'node:http';
import type { FileHandle } from 'node:fs/promises';

/** What the origin says of an object, on which all fetched parts must agree. */
export interface ObjectFacts {
  size: number;
  etag: string;
  modified: Date;
}

/** Asks the origin for the object's bytes from this position on. */
export type FetchFrom = (position: number) => Promise<IncomingMessage>;

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
