import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Fault } from '../fault/fault.ts';
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
import { lockedPackage, type LockedPackage } from './locked-package.ts';
import {
  brokenPack,
  metadataName,
  type PackMetadata,
  PackSplitter,
  readPackMetadata,
  wrongPack,
} from './pack-splitter.ts';

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
