import { createCipheriv, createHash } from 'node:crypto';
import { type Manifest, tagger } from '@updraft/pelican/transfer';

const chunkBytes = 4 << 20;
/** A class tar and its header in the outer tar fill whole chunks, so that all classes share all chunks but the first. */
const chunksPerClass = 36;
const classBytes = chunksPerClass * chunkBytes;
const block = 512;
const fileBytes = 117_500;
const fileRoom = block + Math.ceil(fileBytes / block) * block;
export const filesPerClass = 1276;
const key = '00112233445566778899aabbccddeeff';

/** A tar of class tars, like ImageNet's training set, generated on demand: any range can be requested. */
export class GeneratedObject {
  readonly classes: number;
  readonly size: number;
  /** The first class, with its header. */
  readonly #class: Buffer;

  constructor(gigabytes: number) {
    this.classes = Math.max(1, Math.round((gigabytes * 1e9) / classBytes));
    // The end of the outer tar: two empty blocks.
    this.size = this.classes * classBytes + 2 * block;
    this.#class = makeClass();
  }

  /** The bytes from `start` to `end`, in pieces that must not be modified. */
  *bytes(start: number, end: number): Generator<Buffer> {
    for (let at = start; at < end;) {
      const [index, within] = [Math.floor(at / classBytes), at % classBytes];
      if (index >= this.classes) {
        yield Buffer.alloc(end - at);
        return;
      }
      const piece =
        within < block
          ? classHeader(index).subarray(within)
          : this.#class.subarray(within, Math.min(within + (1 << 20), classBytes));
      yield piece.subarray(0, end - at);
      at += Math.min(piece.length, end - at);
    }
  }

  /** The manifest, without a digest of the entire object: only chunks are verified. */
  manifest(): Manifest {
    const count = Math.ceil(this.size / chunkBytes);
    const shared = new Map<number, string>();
    const [chunks, tags]: [string[], string[]] = [[], []];
    for (let index = 0; index < count; index++) {
      const range = [index * chunkBytes, Math.min(this.size, (index + 1) * chunkBytes)] as const;
      const tag = tagger(key, index);
      for (const piece of this.bytes(...range)) tag.update(piece);
      tags.push(tag.hex());
      const kind = index === count - 1 ? -1 : index % chunksPerClass;
      const known = kind === 0 ? undefined : shared.get(kind);
      const hex = known ?? this.#sha256(...range);
      shared.set(kind, hex);
      chunks.push(hex);
    }
    return { bytes: this.size, chunkBytes, sha256: '0'.repeat(64), chunks, keyed: { key, tags } };
  }

  #sha256(start: number, end: number): string {
    const hash = createHash('sha256');
    for (const piece of this.bytes(start, end)) hash.update(piece);
    return hash.digest('hex');
  }
}

export const className = (index: number): string => `n${String(index).padStart(8, '0')}`;

/** The SHA-256 of a picture; all classes have the same pictures. */
export function pictureSha256(index: number): string {
  return createHash('sha256').update(picture(index)).digest('hex');
}

export const pictureName = (index: number): string => `${String(index).padStart(5, '0')}.JPEG`;

const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16, 7), Buffer.alloc(16)).update(
  Buffer.alloc(8 << 20),
);

function picture(index: number): Buffer {
  const at = (index * 104_729) % (noise.length - fileBytes);
  return noise.subarray(at, at + fileBytes);
}

function makeClass(): Buffer {
  const bytes = Buffer.alloc(classBytes);
  for (let index = 0; index < filesPerClass; index++) {
    const at = block + index * fileRoom;
    tarHeader(pictureName(index), fileBytes).copy(bytes, at);
    picture(index).copy(bytes, at + block);
  }
  return bytes;
}

const classHeader = (index: number): Buffer => tarHeader(`${className(index)}.tar`, classBytes - block);

function tarHeader(name: string, size: number): Buffer {
  const header = Buffer.alloc(block);
  const octal = (value: number, at: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at);
  header.write(name);
  octal(0o644, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(1_700_000_000, 136, 12);
  header.write('        0', 148);
  header.write('ustar\x0000', 257);
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return header;
}
