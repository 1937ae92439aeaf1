import { type ArchiveKind, archiveKinds, repacking } from '@updraft/base';
import { Fault } from './fault.ts';
import type { ByteSink, MaybePromise } from './entry.ts';
import { blockSize, parseTarHeader } from './tar-header.ts';

/**
 * Checks the first bytes before anything is unpacked, and passes them to a reader only if they are an archive of the
 * declared kind.
 */
export class KindGate implements ByteSink {
  readonly #name: string;
  readonly #declared: ArchiveKind | undefined;
  readonly #open: (kind: ArchiveKind) => ByteSink;
  #head = Buffer.alloc(0);
  #reader: ByteSink | undefined;

  /** Without a declared kind, any archive is accepted. */
  constructor(name: string, declared: ArchiveKind | undefined, open: (kind: ArchiveKind) => ByteSink) {
    this.#name = name;
    this.#declared = declared;
    this.#open = open;
  }

  write(piece: Buffer): MaybePromise {
    if (this.#reader !== undefined) return this.#reader.write(piece);
    const all = this.#head.length === 0 ? piece : Buffer.concat([this.#head, piece]);
    if (all.length >= headBytes) return this.#decide(all);
    this.#head = Buffer.from(all);
  }

  async end(): Promise<void> {
    if (this.#reader === undefined && this.#head.length === 0)
      throw new Fault('archive-damaged', `${this.#name}: is empty`, { about: this.#name });
    if (this.#reader === undefined) await this.#decide(this.#head);
    await this.#reader?.end();
  }

  destroy(): void {
    this.#reader?.destroy();
  }

  #decide(bytes: Buffer): MaybePromise {
    const detected = detectArchive(bytes.subarray(0, headBytes));
    if (!('kind' in detected)) throw notAnArchive(this.#name, detected);
    if (this.#declared !== undefined && detected.kind !== this.#declared)
      throw new Fault('archive-kind', `${this.#name}: is a ${detected.kind} archive, not ${this.#declared}`, {
        about: this.#name,
        fix: `set unpack to "${detected.kind}" or "auto"`,
      });
    this.#reader = this.#open(detected.kind);
    return this.#reader.write(bytes);
  }
}

function notAnArchive(about: string, { other, text, program }: Unknown): Fault {
  if (program !== undefined) return mustRepack(about, program);
  return new Fault(text ? 'data-wrong' : 'archive-kind', `${about}: is not an archive but ${other}`, {
    about,
  });
}

export const mustRepack = (archive: string, program: 'xz' | 'bzip2'): Fault =>
  new Fault('archive-kind', `${archive}: is compressed by ${program}, which Updraft does not unpack`, {
    about: archive,
    fix: (repacking(archive) ?? repacking(`OLD.tar.${program === 'xz' ? 'xz' : 'bz2'}`))?.fix,
  });

/** What is no archive: `text` is what servers send instead of data, `program` is what decompresses it. */
interface Unknown {
  other: string;
  text?: true;
  program?: 'xz' | 'bzip2';
}

/** Magic bytes in hex; a tar is recognized by its first header. */
const magics: Readonly<Record<ArchiveKind, readonly string[]>> = {
  tar: [],
  'tar.gz': ['1f8b'],
  'tar.zst': ['28b52ffd'],
  zip: ['504b0304', '504b0506'],
};

const others: readonly (readonly [hex: string, other: string])[] = [
  ['377abcaf271c', 'a 7-Zip archive, which Updraft does not unpack'],
  ['526172211a07', 'a RAR archive, which Updraft does not unpack'],
  ['5d0000', 'an .lzma file, which Updraft does not unpack'],
  ['1f9d', 'a file compressed by `compress`, which Updraft does not unpack'],
  ['894844460d0a1a0a', 'an HDF5 file'],
  ['25504446', 'a PDF document'],
];

/** Bytes that `detectArchive` needs, if the file has that many. */
const headBytes = blockSize;

/** Recognizes a file by its first bytes. */
export function detectArchive(head: Buffer): { kind: ArchiveKind } | Unknown {
  if (head.length >= blockSize && typeof parseTarHeader(head, 0) === 'object') return { kind: 'tar' };
  const hex = head.toString('hex', 0, 16);
  const kind = archiveKinds.find((kind) => magics[kind].some((start) => hex.startsWith(start)));
  if (kind !== undefined) return { kind };
  const program = hex.startsWith('fd377a585a00') ? 'xz' : hex.startsWith('425a68') ? 'bzip2' : undefined;
  if (program !== undefined) return { other: `a file compressed by ${program}`, program };
  const other = others.find(([start]) => hex.startsWith(start))?.[1];
  if (other !== undefined) return { other };
  // A skippable frame may come first in a zstd file.
  if (/^5[0-9a-f]2a4d18/.test(hex)) return { kind: 'tar.zst' };
  if (head.toString('latin1', 257, 262) === 'ustar' || head.every((byte) => byte === 0))
    return { kind: 'tar' };
  return detectText(head);
}

/** What a web server sends instead of data, to people. */
export const pageText = 'an HTML page';

export function detectText(head: Buffer): Unknown {
  const text = head
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart()
    .toLowerCase();
  if (/^(?:<!doctype html|<html|<head|<body|<title)/.test(text)) return { other: pageText, text: true };
  if (text.startsWith('<?xml'))
    return { other: text.includes('<html') ? pageText : 'an XML document', text: true };
  if (/^[{[]\s*["{[\]}]/.test(text)) return { other: 'JSON text', text: true };

  if (!/[\x00-\x08\x0e-\x1f\ufffd]/.test(text))
    return { other: `text that begins with ${JSON.stringify(text.slice(0, 40))}`, text: true };
  return {
    other: `a file that begins with the bytes ${head.toString('hex', 0, 8)}, which match no known archive`,
  };
}
