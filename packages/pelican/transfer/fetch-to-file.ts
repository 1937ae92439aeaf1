import { defined } from '@updraft/base';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fs from 'node:fs';
import { Fault } from '../fault.ts';
import { lacksIdentity } from './engine/check-response.ts';
import { type Source, Roster } from './engine/roster.ts';
import { Transfer } from './engine/transfer.ts';
import {
  missingFacts,
  toStopFault,
  resolveSettings,
  type Fetched,
  type FetchOptions,
  type Settings,
  type Verification,
} from './fetch.ts';
import { digestWaitMs } from './limits.ts';
import {
  askObject,
  likelyAlgorithm,
  within,
  type ObjectChecksums,
  type Algorithm,
  hasher,
} from './proof/digest.ts';
import { PartFile, withDiskFaults } from './sinks/part-file.ts';
import { earlierPart, PartJournalWriter, type EarlierPart, type PartJournal } from './sinks/part-journal.ts';
import type { OnDamaged, Sink } from './sinks/sink.ts';
import type { Manifest } from './proof/manifest.ts';
import { ChunkCheck, fileHash, type FileHash } from './proof/verify.ts';
import type { Located, LocateOptions } from '../federation/located.ts';
import { readOriginFacts } from '../federation/stat-object.ts';
import { ConnectionPool, firstAnswer } from '../http/connections.ts';

/**
 * Fetches an object into a file. Until it is complete and verified, the bytes are in `target.updraft-part`; a later
 * call for the same target resumes from there if the object has not changed. A target that exists is replaced.
 */
export async function fetchToFile(url: string, target: string, options: FetchOptions): Promise<Fetched> {
  const settings = resolveSettings(url, options);
  const started = settings.clock.monotonic();
  const fetch = await openFetch(url, target, settings);
  try {
    const verified = await fetch.run();
    const seconds = (settings.clock.monotonic() - started) / 1000;
    const { size: bytes, record, digest, known } = fetch;
    return { bytes, seconds, verified, ...record, ...defined({ digest }), ...missingFacts(verified, known) };
  } catch (error) {
    const thrown = await fetch.withShortage(error);
    await fetch.suspend();
    throw toStopFault(settings, thrown);
  } finally {
    fetch.close();
  }
}

async function openFetch(url: string, target: string, settings: Settings): Promise<FileFetch> {
  const file = new PartFile(target);
  try {
    return new FileFetch(url, target, settings, file, await earlierPart(target, file, settings));
  } catch (error) {
    file.close();
    throw toStopFault(settings, error);
  }
}

/** Once all bytes are here and other servers can be asked: the wait for one server's answer, and for any answer. */
const graceMs = 1_000;
const lateMs = 5_000;

const isUnproven = (proof: Verification): boolean => proof === 'size' || proof === 'none';

class FileFetch {
  readonly #settings: Settings;
  readonly #file: PartFile;
  readonly #sink: FileSink;
  readonly #transfer: Transfer;
  #facts: Promise<ObjectChecksums | undefined> = Promise.resolve(undefined);
  #asked: Source | undefined;
  /** The digest of the first server, of this or an earlier attempt. */
  #named: PartJournal['digest'];
  readonly #journal: PartJournalWriter;
  readonly #startedAt: number;
  /** The digest that the bytes were compared with. */
  digest: Fetched['digest'];

  constructor(
    url: string,
    target: string,
    settings: Settings,
    file: PartFile,
    earlier: EarlierPart | undefined,
  ) {
    this.#settings = settings;
    this.#startedAt = settings.clock.monotonic();
    this.#file = file;
    this.#named = earlier?.digest;
    const { manifest, sha256, clock } = settings;
    const onDamaged: OnDamaged = (...damage) => this.#transfer.reject(...damage);
    const onRestart = () => {
      this.#named = undefined;
      this.#facts = Promise.resolve(undefined);
    };
    this.#sink = new FileSink(file, { manifest, onDamaged, onRestart });
    if (sha256 !== undefined && manifest === undefined) this.#sink.hashBy('sha-256');
    this.#journal = new PartJournalWriter(target, file, clock, earlier?.done ?? [], () =>
      this.#currentJournal(),
    );
    this.#transfer = new Transfer({
      url,
      ...settings,
      sink: this.#sink,
      proven: manifest !== undefined,
      earlier,
      digest: () => this.#expectedDigest(),
      onEvent: (event) => {
        settings.onEvent(event);
        if (event.kind === 'progress') this.#progressed();
      },
      onFound: (source) => {
        if (manifest === undefined && sha256 === undefined) this.#askFirst(source);
      },
    });
  }

  #askFirst(source: Source): void {
    this.#sink.hashBy(likelyAlgorithm);
    this.#asked = source;
    const asked = this.#ask(source, this.#settings.limits.digestSeconds * 1000).then((facts) => {
      // If the transfer has started over since, this is about another version.
      if (this.#facts !== asked) return facts;
      this.#named ??= facts?.digest;
      this.#sink.hashBy(
        facts?.digest?.algorithm ?? (source.server.kind === 'cache' ? likelyAlgorithm : undefined),
      );
      return facts;
    });
    this.#facts = asked;
  }

  get size(): number {
    return this.#transfer.segments.size;
  }

  get record(): Transfer['record'] {
    return this.#transfer.record;
  }

  get known(): Transfer['known'] {
    return this.#transfer.known;
  }

  /** Fetches, verifies, and renames the file to its target. */
  async run(): Promise<Verification> {
    const { repair } = this.#transfer;
    await this.#transfer.run();
    let proof = await this.#prove();
    while (proof instanceof Fault || (isUnproven(proof) && (await repair.refetchUnverified()))) {
      if (proof instanceof Fault) await repair.run(proof, this.#settings.sha256 !== undefined);
      proof = await this.#prove();
    }
    repair.clearSuspects();
    this.#file.publish(this.size);
    this.#journal.remove();
    return proof;
  }

  /** Keeps what has arrived for a later attempt. */
  async suspend(): Promise<void> {
    const { known, segments, origin } = this.#transfer;
    const isProven = this.#settings.manifest !== undefined;
    // Stopped before any server said what a later attempt must know to resume.
    if (!isProven && lacksIdentity(known) && (segments.done[0]?.end ?? 0) > 0) await origin.answer();
    this.#journal.suspend();
  }

  /** A disk that became full on the way: adds how much the rest needs, if a server says so. */
  async withShortage(error: unknown): Promise<unknown> {
    if (!(error instanceof Fault) || error.kind !== 'disk-full') return error;
    if (this.#transfer.known.size === undefined) await this.#transfer.origin.answer();
    const { size } = this.#transfer.known;
    try {
      if (size !== undefined) this.#file.reserve(size);
    } catch (shortage) {
      return shortage;
    }
    return error;
  }

  close(): void {
    this.#transfer.close();
    this.#journal.close();
  }

  async #prove(): Promise<Verification | Fault> {
    const { manifest, sha256, signal, shownUrl: about } = this.#settings;
    if (manifest !== undefined) return 'manifest';
    let facts = sha256 === undefined ? await this.#finalFacts(this.#asked) : undefined;
    // A size that contradicts what came is one server's word.
    if (facts?.size !== undefined && facts.size !== this.size)
      facts = (await this.#askOther(this.#asked?.server.host)) ?? facts;
    signal.throwIfAborted();
    if (facts?.size !== undefined && facts.size !== this.size)
      return new Fault('data-corrupt', `${about}: ${this.size} bytes came, not ${facts.size}`, { about });
    const digest =
      sha256 === undefined ? facts?.digest : { algorithm: 'sha-256' as const, hex: sha256, server: '' };
    if (digest === undefined)
      return (this.#transfer.known.size ?? facts?.size) === undefined ? 'none' : 'size';
    const { algorithm, hex, server } = digest;
    const found = await this.#sink.digest(algorithm, this.size, signal);
    this.digest = digest;
    if (found === hex || (server !== '' && (await this.#isVerifiedByOther(server)))) return 'digest';
    const what = server === '' ? 'SHA-256' : `${algorithm} (${server})`;
    return new Fault('data-corrupt', `${about}: ${what} is ${found}, should be ${hex}`, { about });
  }

  /** Before all bytes are fetched again: the digest itself may be wrong, and another server may have the right one. */
  async #isVerifiedByOther(server: string): Promise<boolean> {
    const { signal } = this.#settings;
    const said = await this.#askOther(server);
    if (said?.digest === undefined) return false;
    const found = await this.#sink.digest(said.digest.algorithm, this.size, signal);
    if (found !== said.digest.hex) return false;
    this.digest = said.digest;
    return true;
  }

  /**
   * The servers' digest once all bytes are here. If one does not answer, others are asked; and a cache that was still
   * fetching the object knows its digest only now that it has all of it.
   */
  async #finalFacts(asked: Source | undefined): Promise<ObjectChecksums | undefined> {
    const { clock } = this.#settings;
    const others = asked === undefined ? [] : this.#transfer.witnesses.othersThan(asked.server.host);
    const alone = digestWaitMs(this.size, this.#settings.limits);
    const early = await within(others.length === 0 ? alone : graceMs, this.#facts, this.#settings);
    const again = early === undefined ? others.slice(0, 2) : asked?.server.kind === 'cache' ? [asked] : [];
    if (early?.digest !== undefined || again.length === 0) return early;
    const waitMs = Math.max(lateMs, (clock.monotonic() - this.#startedAt) / 4);
    const said = [this.#facts, ...again.map((source) => this.#ask(source, waitMs))];
    const proofs = said.map(async (facts) => {
      if ((await facts)?.digest === undefined) throw new Error('no digest');
      return await facts;
    });
    const last = Promise.any(proofs).catch(async () => (await said[0]) ?? (await said[1]));
    return (await within(waitMs, last, this.#settings)) ?? early;
  }

  async #askOther(host = ''): Promise<ObjectChecksums | undefined> {
    const [other] = this.#transfer.witnesses.othersThan(host);
    return other && (await this.#ask(other, lateMs));
  }

  #ask(source: Source, waitMs: number): Promise<ObjectChecksums | undefined> {
    return askObject(source, this.#transfer.pool, waitMs, this.#settings.signal);
  }

  #progressed(): void {
    this.#journal.tick();
    const [first] = this.#transfer.segments.done;
    if (first?.start === 0) this.#sink.follow(first.end);
  }

  #currentJournal(): PartJournal | undefined {
    const { known, segments } = this.#transfer;
    const { done } = segments;
    if (known.size === undefined || done.length === 0) return undefined;
    return { url: this.#settings.shownUrl, identity: known, done, ...defined({ digest: this.#named }) };
  }

  /** The digest by which another server can show that it has the same version. */
  async #expectedDigest(): Promise<PartJournal['digest']> {
    const { sha256: hex } = this.#settings;
    if (hex !== undefined) return { algorithm: 'sha-256', hex };
    return this.#named ?? (await this.#facts)?.digest;
  }
}

interface FileSinkOptions {
  manifest: Manifest | undefined;
  onDamaged: OnDamaged;
  onRestart?: () => void;
}

/** Writes each byte to its place in the part, in any order, and verifies it on the way. */
export class FileSink implements Sink {
  readonly before = Infinity;
  readonly maxSegment = Infinity;
  readonly alignment: number;
  readonly #file: PartFile;
  readonly #options: FileSinkOptions;
  #check: ChunkCheck | undefined;
  #hash: FileHash | undefined;
  #beforeSize: number | undefined;
  #rewrites = false;
  #replaced = false;

  constructor(file: PartFile, options: FileSinkOptions) {
    this.#file = file;
    this.#options = options;
    this.alignment = options.manifest?.chunkBytes ?? 1;
    this.#beginProof();
  }

  begin(size: number | undefined): void {
    if (size !== undefined) this.#file.reserve(size);
    // If no server says the size, go on without it.
    const isFirst = this.#beforeSize === undefined;
    this.#beforeSize = isFirst && size === undefined ? this.#file.blindLimit() : Infinity;
  }

  get beforeSize(): number {
    return this.#beforeSize ?? Infinity;
  }

  write(offset: number, chunk: Buffer, server: string): void {
    if (!this.#rewrites || this.#file.differs(offset, chunk)) {
      this.#file.write(offset, chunk);
      this.#replaced = true;
    }
    this.#hash?.wrote(offset, chunk);
    this.#check?.wrote(offset, chunk, server);
  }

  discard(): 'kept' | 'dropped' {
    return this.#check === undefined ? 'dropped' : 'kept';
  }

  rewrite(): () => boolean {
    this.#rewrites = true;
    this.#replaced = false;
    return () => {
      const was = this.#replaced;
      this.#replaced = false;
      return was;
    };
  }

  restart(): boolean {
    this.#rewrites = false;
    this.#beforeSize = undefined;
    this.#file.restart();
    this.#beginProof();
    this.#options.onRestart?.();
    return true;
  }

  /** Chooses the digest to compute while bytes arrive; undefined for none. */
  hashBy(algorithm: Algorithm | undefined): void {
    if (this.#hash?.algorithm !== algorithm)
      this.#hash = algorithm === undefined ? undefined : fileHash(algorithm);
  }

  /** Everything before `end` has arrived: hashes more of it, a little at a time. */
  follow(end: number): void {
    this.#hash?.follow(this.#file, end);
  }

  /** Digest of the whole file; reads back what was not hashed on the way, yielding to the event loop. */
  async digest(algorithm: Algorithm, size: number, signal: AbortSignal): Promise<string> {
    this.hashBy(algorithm);
    const hash = this.#hash as FileHash;
    while (!hash.follow(this.#file, size)) {
      await nextTurn();
      signal.throwIfAborted();
    }
    this.#hash = undefined;
    return hash.hex();
  }

  #beginProof(): void {
    const { manifest, onDamaged } = this.#options;
    this.#check = manifest && new ChunkCheck(manifest, this.#file, onDamaged);
    this.#hash = this.#hash && fileHash(this.#hash.algorithm);
  }
}

/** The result if the target already holds the object, a Fault if it holds something else; undefined if it is free. */
export async function alreadyThere(
  url: string,
  target: string,
  options: FetchOptions,
): Promise<Fetched | undefined> {
  const settings = resolveSettings(url, options);
  const stat = withDiskFaults(target, () => fs.statSync(target, { throwIfNoEntry: false }));
  if (stat === undefined) return undefined;
  if (!stat.isFile())
    throw new Fault('scratch-unusable', `${target} exists and is not a file`, { about: target });
  const compared = await compare(url, target, stat.size, settings);
  if (compared !== undefined) return { bytes: stat.size, seconds: 0, servers: [], ...compared };
  throw new Fault('file-invalid', `${target} exists and is not ${settings.shownUrl}`, {
    about: target,
    fix: 'remove it, choose another name, or allow overwriting',
  });
}

async function compare(
  url: string,
  target: string,
  size: number,
  settings: Settings,
): Promise<Pick<Fetched, 'verified' | 'missing'> | undefined> {
  const { manifest, sha256: hex = manifest?.sha256 } = settings;
  const isProven = async ({ algorithm, hex }: { algorithm: Algorithm; hex: string }) =>
    (await hashFile(target, algorithm)) === hex ? { verified: 'digest' as const } : undefined;
  if (settings.size !== undefined && settings.size !== size) return undefined;
  if (hex !== undefined) return await isProven({ algorithm: 'sha-256', hex });
  const remote = await askAny(url, size, settings);
  if (remote?.size === undefined)
    throw new Fault(
      'file-invalid',
      `${target} exists, and no server says whether it is ${settings.shownUrl}`,
      { about: target, fix: 'try again later, choose another name, or allow overwriting' },
    );
  if (remote.size !== size) return undefined;
  if (remote.digest === undefined) return { verified: 'size', ...missingFacts('size', remote) };
  return await isProven(remote.digest);
}

/** The size according to the origin, and a server's digest if that size is the one on disk. */
async function askAny(url: string, here: number, settings: Settings): Promise<ObjectChecksums | undefined> {
  const { locator, clock, limits, signal, tokenFile, connections: idle } = settings;
  const roster = new Roster();
  const pool = new ConnectionPool({ clock, ca: locator.ca, connectMs: limits.connectSeconds * 1000, idle });
  const locate = (how: LocateOptions): Promise<Located> =>
    locator.locate(url, { ...how, signal, ...(tokenFile !== undefined && { tokenFile }) });
  try {
    const located = await locate({});
    roster.add(located, clock.monotonic());
    const known = await readOriginFacts(located, { wire: pool, locate, signal }).catch(() => undefined);
    signal.throwIfAborted();
    const { size, etag, modified } = known ?? {};
    const facts = { size, etag, modified, digest: undefined };
    if (size !== undefined && size !== here) return facts;
    const ask = (source: Source, how: { signal: AbortSignal }) =>
      askObject(source, pool, digestWaitMs(here, limits), how.signal);
    const answer = await firstAnswer(roster.sources, ask, { federation: { wire: pool }, signal });
    return { ...facts, ...defined({ ...answer }) };
  } finally {
    pool.close();
  }
}

async function hashFile(file: string, algorithm: Algorithm): Promise<string> {
  const hash = hasher(algorithm);
  for await (const chunk of fs.createReadStream(file, { highWaterMark: 1 << 20 }))
    hash.update(chunk as Buffer);
  return hash.hex();
}
