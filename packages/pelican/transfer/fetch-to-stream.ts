import { defined } from '@updraft/base';
import { Fault } from '../fault.ts';
import { Transfer } from './engine/transfer.ts';
import { digestWaitMs } from './limits.ts';
import {
  missingFacts,
  toStopFault,
  resolveSettings,
  type Fetched,
  type FetchOptions,
  type Settings,
  type Verification,
} from './fetch.ts';
import {
  askObject,
  hasher,
  likelyAlgorithm,
  within,
  type Algorithm,
  type ObjectChecksums,
  type ServerDigest,
  type Hasher,
} from './proof/digest.ts';
import { OrderedSink, VerifyingSink, type Sink, type Write } from './sinks/sink.ts';

/**
 * Fetches an object and passes its bytes to `write` in order; the engine reuses a chunk once `write` returns or
 * resolves. With a manifest only verified bytes are passed on; without one the object is verified at the end, and a
 * Fault may follow bytes that were already passed on.
 */
export async function fetchToStream(url: string, write: Write, options: FetchOptions): Promise<Fetched> {
  const settings = resolveSettings(url, options);
  const started = settings.clock.monotonic();
  const fetch = new StreamFetch(url, write, settings);
  try {
    const verified = await fetch.run();
    const seconds = (settings.clock.monotonic() - started) / 1000;
    const { digest, transfer } = fetch;
    const said = { ...transfer.record, ...defined({ digest }), ...missingFacts(verified, transfer.known) };
    return { bytes: transfer.segments.size, seconds, verified, ...said };
  } catch (error) {
    // The reader of the stream may have found it damaged.
    for (const { server } of fetch.transfer.record.servers) settings.suspects.add(server);
    throw toStopFault(settings, error);
  } finally {
    options.onSenders?.(fetch.transfer.record.servers.map(({ server }) => server));
    fetch.transfer.close();
  }
}

/** How long the first byte waits for the server to name its digest: hashing must start with that byte. */
const digestGraceMs = 1_000;

class StreamFetch {
  readonly transfer: Transfer;
  /** The digest that the bytes were compared with. */
  digest: Fetched['digest'];
  readonly #settings: Settings;
  readonly #write: Write;
  #hash: Hasher | undefined;
  #algorithm: Algorithm | undefined;
  #facts: Promise<ObjectChecksums | undefined> = Promise.resolve(undefined);

  constructor(url: string, write: Write, settings: Settings) {
    this.#settings = settings;
    this.#write = write;
    const { manifest, sha256, limits, signal } = settings;
    if (sha256 !== undefined) this.#hashWith('sha-256');
    this.transfer = new Transfer({
      url,
      ...settings,
      sink: this.#sink(),
      proven: manifest !== undefined,
      earlier: undefined,
      digest: () => this.#finalDigest(),
      onFound: async (source, pool) => {
        if (manifest !== undefined || sha256 !== undefined) return;
        this.#facts = askObject(source, pool, limits.digestSeconds * 1000, signal);
        await this.#chooseDigest();
      },
    });
  }

  async run(): Promise<Verification> {
    await this.transfer.run();
    if (this.#settings.manifest !== undefined) return 'manifest';
    const digest = await this.#finalDigest();
    // An answer without a length has ended too early.
    if (!this.transfer.segments.complete) return await this.run();
    if (digest === undefined || this.#hash === undefined)
      return (this.transfer.known.size ?? (await this.#finalFacts())?.size) === undefined ? 'none' : 'size';
    const found = this.#hash.hex();
    this.digest = digest;
    if (found === digest.hex) return 'digest';
    const { shownUrl: about } = this.#settings;
    const what = `${about}: ${digest.algorithm} is ${found}, should be ${digest.hex}`;
    throw new Fault('data-corrupt', what, { about });
  }

  /** The digest that the whole is compared with. */
  async #finalDigest(): Promise<ServerDigest | undefined> {
    const { sha256: hex } = this.#settings;
    if (hex !== undefined) return { algorithm: 'sha-256', hex, server: '' };
    const digest = (await this.#finalFacts())?.digest;
    return digest?.algorithm === this.#algorithm ? digest : undefined;
  }

  #finalFacts(): Promise<ObjectChecksums | undefined> {
    const waitMs = digestWaitMs(this.transfer.segments.size, this.#settings.limits);
    return within(waitMs, this.#facts, this.#settings);
  }

  #sink(): Sink {
    const { manifest, limits } = this.#settings;
    if (manifest !== undefined)
      return new VerifyingSink(manifest, limits.windowBytes, this.#write, (...damage) =>
        this.transfer.reject(...damage),
      );
    return new OrderedSink(limits.windowBytes, (chunk) => {
      this.#hash?.update(chunk);
      return this.#write(chunk);
    });
  }

  #hashWith(algorithm: Algorithm): void {
    this.#algorithm = algorithm;
    this.#hash = hasher(algorithm);
  }

  async #chooseDigest(): Promise<void> {
    const said = this.#facts.then((facts) => facts?.digest?.algorithm ?? 'none');
    const algorithm = (await within(digestGraceMs, said, this.#settings)) ?? 'late';
    if (algorithm === 'late') this.#hashWith(likelyAlgorithm);
    else if (algorithm !== 'none') {
      this.#hashWith(algorithm);
      this.#settings.onDigest();
    }
  }
}
