import { createHash, randomBytes } from 'node:crypto';
import { type Manifest, tagger } from '@updraft/pelican/transfer';

/** What is known about an object after all its bytes were read. */
export interface Seal {
  manifest: Manifest;
  /** Hex MD5, which origins can verify. */
  md5: string;
}

const mebibyte = 1 << 20;

/** Hashes an object and its chunks while its bytes pass. */
export class ManifestMaker {
  readonly #chunkBytes: number;
  readonly #whole = createHash('sha256');
  readonly #md5 = createHash('md5');
  readonly #chunks: string[] = [];
  readonly #key = randomBytes(16).toString('hex');
  readonly #tags: string[] = [];
  #chunk = createHash('sha256');
  #tag = tagger(this.#key, 0);
  #inChunk = 0;
  #bytes = 0;

  /** `bytes` is the object's size: larger objects have larger chunks, so manifests stay small. */
  constructor(bytes: number) {
    this.#chunkBytes = chunkBytesFor(bytes);
  }

  update(bytes: Buffer): void {
    this.#whole.update(bytes);
    this.#md5.update(bytes);
    this.#bytes += bytes.length;
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + this.#chunkBytes - this.#inChunk);
      this.#chunk.update(part);
      this.#tag.update(part);
      this.#inChunk += part.length;
      at += part.length;
      if (this.#inChunk === this.#chunkBytes) this.#endChunk();
    }
  }

  /** To be called once. */
  seal(): Seal {
    if (this.#inChunk > 0) this.#endChunk();
    const manifest: Manifest = {
      bytes: this.#bytes,
      chunkBytes: this.#chunkBytes,
      sha256: this.#whole.digest('hex'),
      chunks: this.#chunks,
      keyed: { key: this.#key, tags: this.#tags },
    };
    return { manifest, md5: this.#md5.digest('hex') };
  }

  #endChunk(): void {
    this.#chunks.push(this.#chunk.digest('hex'));
    this.#chunk = createHash('sha256');
    this.#tags.push(this.#tag.hex());
    this.#tag = tagger(this.#key, this.#tags.length);
    this.#inChunk = 0;
  }
}

/** 4, 8 or 16 MiB: a damaged chunk is cheap to fetch again, and 1024 hashes cover 4 to 16 GiB. */
function chunkBytesFor(bytes: number): number {
  if (bytes <= 4096 * mebibyte) return 4 * mebibyte;
  return bytes <= 8192 * mebibyte ? 8 * mebibyte : 16 * mebibyte;
}
