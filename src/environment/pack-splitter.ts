import { printable } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import {
  defaultUnpackLimits,
  type EntrySink,
  type FileEntry,
  type FolderEntry,
  type HardlinkEntry,
  quoted,
  type SymlinkEntry,
  TarReader,
} from '@updraft/archive';
import { lockedPackage, type LockedPackage } from './pixi-lock.ts';

/** The contents of `pixi-pack.json`. */
export interface PackMetadata {
  platform: string;
  /** Version of pixi-pack; early versions did not state it. */
  madeBy?: string;
}

const metadataName = 'pixi-pack.json';

/** The only version of the format so far. */
const format = '1';

const repack = 'repack with: updraft env pack';

const unusable = (name: string, what: string): string =>
  `the software archive ${name} cannot be used: ${what}`;

/** An archive that cannot be used here; another copy or another machine may work. */
export const brokenPack = (name: string, what: string, fix = repack): Fault =>
  new Fault('environment-broken', unusable(name, what), { about: name, fix });

/** An archive that cannot be used anywhere. */
export const wrongPack = (name: string, what: string, fix = repack): Fault =>
  new Fault('archive-kind', unusable(name, what), { about: name, fix });

/** Reads `pixi-pack.json`; other format versions are refused. */
function readPackMetadata(text: string, name: string): PackMetadata {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrongPack(name, `its ${metadataName} is not JSON`);
  }
  const { version, platform, 'pixi-pack-version': madeBy } = (value ?? {}) as Record<string, unknown>;
  if (version !== format)
    throw wrongPack(
      name,
      `its format version is ${String(version)}, but Updraft supports ${format}`,
      'repack with pixi-pack 0.7, or use a newer updraft',
    );
  if (typeof platform !== 'string') throw wrongPack(name, `its ${metadataName} names no platform`);
  return { platform, ...(typeof madeBy === 'string' && { madeBy }) };
}

/** Conda's name for the platform of a machine, from Node's `os.arch()`. */
export const condaPlatform = (arch: string): string =>
  ({ x64: 'linux-64', arm64: 'linux-aarch64', ppc64: 'linux-ppc64le' })[arch] ?? `linux-${arch}`;

export function checkPlatform({ platform }: PackMetadata, here: string, name: string): void {
  if (platform === here) return;
  // Another machine of the pool may have the right Linux platform; none has another system.
  const refused = platform.startsWith('linux-') ? brokenPack : wrongPack;
  throw refused(
    name,
    `it is for ${platform}, but this machine is ${here}`,
    `pack the environment for the machines it runs on: updraft env pack --platform ${here}`,
  );
}

type MaybePromise = void | Promise<void>;

/** Where the parts of a pixi-pack archive go. */
export interface PackParts {
  tar: (piece: Buffer) => MaybePromise;
  /** The unpacking program in a self-extracting archive. */
  program: (piece: Buffer) => MaybePromise;
}

const headerEnd = Buffer.from('\n@@END_HEADER@@\n');
const archiveEnd = '@@END_ARCHIVE@@';
const maxHeaderBytes = 1 << 16;
const [newline, at] = [0x0a, 0x40];

/**
 * Splits a pixi-pack archive as it arrives: a plain tar passes unchanged, a self-extracting one is split into its tar
 * and its program. Its own script would hold the archive in memory twice, because it is one line of text.
 */
export class PackSplitter {
  readonly #name: string;
  readonly #parts: PackParts;
  #state: 'start' | 'tar' | 'header' | 'archive' | 'mark' | 'program' = 'start';
  /** Bytes that need more before they can be read. */
  #rest = Buffer.alloc(0);
  #header = '';
  #programBytes = 0;

  constructor(name: string, parts: PackParts) {
    this.#name = name;
    this.#parts = parts;
  }

  /** The archive's program, if it has one; before pixi-pack 0.7 it needs a subcommand. */
  get program(): { subcommand: string[] } | undefined {
    if (this.#programBytes === 0) return undefined;
    return { subcommand: /pixi-pack" unpack /.test(this.#header) ? ['unpack'] : [] };
  }

  async write(piece: Buffer): Promise<void> {
    if (this.#state === 'tar') {
      await this.#parts.tar(piece);
      return;
    }
    let left: Buffer | null = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    while (left !== null) left = await this.#step(left);
  }

  /** There are no more bytes; throws unless all parts were complete. */
  end(): void {
    if (
      this.#state === 'tar' ||
      (this.#state === 'program' && this.#rest.length === 0 && this.#programBytes > 0)
    )
      return;
    if (this.#state === 'start') throw brokenPack(this.#name, 'it is empty or not a pixi-pack archive');
    throw brokenPack(
      this.#name,
      `it is truncated in its ${this.#state === 'program' ? 'program' : 'payload'}`,
    );
  }

  /** Uses what it can and keeps the rest; returns bytes to be read in the next state, or null. */
  async #step(bytes: Buffer): Promise<Buffer | null> {
    switch (this.#state) {
      case 'start':
        return await this.#start(bytes);
      case 'header':
        return this.#endHeader(bytes);
      case 'mark':
        return this.#endArchive(bytes);
      case 'archive':
      case 'program':
        return await this.#decode(bytes);
      case 'tar':
        await this.#parts.tar(bytes);
        return this.#keep(Buffer.alloc(0));
    }
  }

  #keep(bytes: Buffer): null {
    // A copy, since the caller may reuse the piece.
    this.#rest = Buffer.from(bytes);
    return null;
  }

  async #start(bytes: Buffer): Promise<Buffer | null> {
    if (bytes.length < 512) return this.#keep(bytes);
    if (bytes.toString('latin1', 0, 2) === '#!') this.#state = 'header';
    else if (bytes.toString('latin1', 257, 262) === 'ustar') this.#state = 'tar';
    else
      throw wrongPack(
        this.#name,
        `it is not a pixi-pack archive: it begins with ${printable(JSON.stringify(bytes.toString('latin1', 0, 24)))}`,
      );
    return await Promise.resolve(bytes);
  }

  #endHeader(bytes: Buffer): Buffer | null {
    const end = bytes.indexOf(headerEnd);
    if (end === -1) {
      if (bytes.length > maxHeaderBytes)
        throw wrongPack(
          this.#name,
          'it is a script, but not from pixi-pack: the mark before its payload is missing',
        );
      return this.#keep(bytes);
    }
    this.#header = bytes.toString('latin1', 0, end);
    this.#state = 'archive';
    this.#rest = Buffer.alloc(0);
    return bytes.subarray(end + headerEnd.length);
  }

  #endArchive(bytes: Buffer): Buffer | null {
    if (bytes.length <= archiveEnd.length) return this.#keep(bytes);
    if (bytes.toString('latin1', 0, archiveEnd.length) !== archiveEnd)
      throw brokenPack(this.#name, 'its payload is damaged');
    this.#state = 'program';
    this.#rest = Buffer.alloc(0);
    return bytes.subarray(archiveEnd.length);
  }

  /** Base64: four characters are three bytes; newlines are skipped, and an @ ends it. */
  async #decode(bytes: Buffer): Promise<Buffer | null> {
    const mark = bytes.indexOf(at);
    const part = mark === -1 ? bytes : bytes.subarray(0, mark);
    const text = part.includes(newline) ? Buffer.from(part.filter((byte) => byte !== newline)) : part;
    const whole = text.length - (text.length % 4);
    if (whole > 0) await this.#emit(text.subarray(0, whole));
    if (mark === -1) return this.#keep(text.subarray(whole));
    if (whole !== text.length || this.#state === 'program')
      throw brokenPack(this.#name, 'its payload is damaged');
    this.#state = 'mark';
    this.#rest = Buffer.alloc(0);
    return bytes.subarray(mark);
  }

  async #emit(text: Buffer): Promise<void> {
    const characters = text.toString('latin1');
    const decoded = Buffer.from(characters, 'base64');
    const padding = characters.endsWith('==') ? 2 : characters.endsWith('=') ? 1 : 0;
    // The decoder skips what is not base64, so fewer bytes come out.
    if (decoded.length !== (characters.length / 4) * 3 - padding)
      throw brokenPack(this.#name, 'its payload is damaged');
    if (this.#state === 'program') this.#programBytes += decoded.length;
    await (this.#state === 'program' ? this.#parts.program(decoded) : this.#parts.tar(decoded));
  }
}

const maxTextBytes = 64 << 20;

/**
 * Checks the tar of pixi-pack as it passes: every package must have the hash stated in its channel's index, because the
 * program that unpacks it later does not verify it.
 */
export class PackInspector implements EntrySink {
  readonly #name: string;
  readonly #reader: TarReader;
  /** The metadata and the indexes, by path. */
  readonly #texts = new Map<string, string>();
  readonly #hashes = new Map<string, string>();
  readonly #names = new Set<string>();
  readonly #wheels: LockedPackage[] = [];
  #text: { path: string; pieces: Buffer[]; bytes: number } | undefined;
  #hash: { path: string; hash: Hash } | undefined;

  constructor(name: string) {
    this.#name = name;
    this.#reader = new TarReader(name, this, defaultUnpackLimits);
  }

  async write(piece: Buffer): Promise<void> {
    await this.#reader.write(piece);
  }

  /** At the end: verifies all packages, and returns them with the archive's metadata. */
  finish(): { metadata: PackMetadata; packages: LockedPackage[] } {
    this.#reader.end();
    if (!this.#reader.ended) throw brokenPack(this.#name, 'it is truncated');
    const text = this.#texts.get(metadataName);
    if (text === undefined) throw wrongPack(this.#name, `it has no ${metadataName}`);
    const metadata = readPackMetadata(text, this.#name);
    return { metadata, packages: [...this.#prove(), ...this.#wheels] };
  }

  #prove(): LockedPackage[] {
    const packages: LockedPackage[] = [];
    for (const [file, text] of this.#texts)
      if (file !== metadataName)
        for (const one of indexedPackages(text, this.#name)) {
          const found = this.#hashes.get(file.replace(/[^/]*$/, one.url));
          if (found === undefined) throw brokenPack(this.#name, `it lacks the package ${one.url}`);
          if (one.sha256 !== undefined && found !== one.sha256)
            throw brokenPack(this.#name, `the package ${one.url} in it is damaged`);
          packages.push(one);
        }
    return packages;
  }

  begin({ path: name, size }: FileEntry): void {
    // The file that was checked must be the one that is unpacked.
    if (this.#names.has(name)) throw wrongPack(this.#name, `it contains ${quoted(name)} twice`);
    this.#names.add(name);
    if (/^pypi\/[^/]+\.whl$/.test(name)) this.#wheels.push(lockedPackage('pypi', name, { size }));
    const isText = name === metadataName || /^channel\/[^/]+\/repodata\.json$/.test(name);
    this.#text = isText ? { path: name, pieces: [], bytes: 0 } : undefined;
    this.#hash = name.startsWith('channel/') ? { path: name, hash: createHash('sha256') } : undefined;
  }

  data(piece: Buffer): void {
    this.#hash?.hash.update(piece);
    if (this.#text === undefined) return;
    this.#text.bytes += piece.length;
    if (this.#text.bytes > maxTextBytes)
      throw brokenPack(this.#name, `its ${this.#text.path} is far too big`);
    this.#text.pieces.push(Buffer.from(piece));
  }

  end(): void {
    if (this.#text !== undefined)
      this.#texts.set(this.#text.path, Buffer.concat(this.#text.pieces).toString('utf8'));
    if (this.#hash !== undefined) this.#hashes.set(this.#hash.path, this.#hash.hash.digest('hex'));
  }

  place({ type, path: name }: FolderEntry | SymlinkEntry | HardlinkEntry): void {
    if (type !== 'folder')
      throw wrongPack(this.#name, `it contains the link ${quoted(name)}, and pixi-pack writes none`);
  }

  amend(): void {
    // A tar states everything before the data.
  }
}

/** The packages of a channel's index; their URLs are file names. */
function indexedPackages(text: string, name: string): LockedPackage[] {
  try {
    const index = JSON.parse(text) as Record<string, Record<string, Record<string, unknown>> | undefined>;
    return ['packages', 'packages.conda'].flatMap((key) =>
      Object.entries(index[key] ?? {}).map(([file, record]) => lockedPackage('conda', file, record)),
    );
  } catch {
    throw brokenPack(name, 'the index of its packages is damaged');
  }
}

/** A pixi-pack archive that was read completely and verified. */
export interface InspectedPack {
  metadata: PackMetadata;
  /** From its indexes and the names of its wheels; their URLs are file names. */
  packages: LockedPackage[];
  form: 'executable' | 'tar';
  bytes: number;
  sha256: string;
}

/** Reads a local archive as the agent will; throws if the agent would refuse it. */
export async function inspectPack(file: string, signal?: AbortSignal): Promise<InspectedPack> {
  const inspector = new PackInspector(file);
  const splitter = new PackSplitter(file, {
    tar: (piece) => inspector.write(piece),
    program: () => undefined,
  });
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const piece of createReadStream(file, { highWaterMark: 1 << 20, ...(signal && { signal }) })) {
      const chunk = piece as Buffer;
      bytes += chunk.length;
      hash.update(chunk);
      await splitter.write(chunk);
    }
    splitter.end();
    const form = splitter.program === undefined ? 'tar' : 'executable';
    return { ...inspector.finish(), form, bytes, sha256: hash.digest('hex') };
  } catch (thrown) {
    if (thrown instanceof Fault)
      throw ['archive-damaged', 'archive-unsafe'].includes(thrown.kind)
        ? brokenPack(file, thrown.message)
        : thrown;
    signal?.throwIfAborted();
    throw new Fault('file-invalid', `${file} cannot be read: ${(thrown as Error).message}`, { about: file });
  }
}
