import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { CachedObject, type FetchFrom } from './cached-object.ts';
import { UpstreamError, type OriginClient } from './origin-client.ts';

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
