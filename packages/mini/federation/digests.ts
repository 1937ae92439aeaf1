import { createHash } from 'node:crypto';

const hashNames = { md5: 'md5', sha: 'sha1', 'sha-256': 'sha256' } as const;
export type DigestName = keyof typeof hashNames | 'crc32c';

export const isDigestName = (name: string): name is DigestName => name === 'crc32c' || name in hashNames;

/** Several digests of the same bytes at once. */
export class Digester {
  readonly #algorithms: DigestName[];
  readonly #hashes: { update(bytes: Uint8Array): void; value(): string }[];

  constructor(algorithms: DigestName[]) {
    this.#algorithms = algorithms;
    this.#hashes = algorithms.map((name) => (name === 'crc32c' ? new Crc32c() : namedHash(name)));
  }

  update(bytes: Uint8Array): void {
    for (const hash of this.#hashes) hash.update(bytes);
  }

  /** The value of a Digest header: hex for crc32c, base64 for the others. */
  value(): string {
    return this.#algorithms.map((name, index) => `${name}=${this.#hashes[index]?.value() ?? ''}`).join(',');
  }
}

function namedHash(name: keyof typeof hashNames): { update(bytes: Uint8Array): void; value(): string } {
  const hash = createHash(hashNames[name]);
  return { update: (bytes) => void hash.update(bytes), value: () => hash.digest('base64') };
}

const crcTable = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  return crc;
});

class Crc32c {
  #crc = -1;

  update(bytes: Uint8Array): void {
    let crc = this.#crc;
    for (let at = 0; at < bytes.length; at += 1)
      crc = (crc >>> 8) ^ (crcTable[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0);
    this.#crc = crc;
  }

  value(): string {
    return (~this.#crc >>> 0).toString(16).padStart(8, '0');
  }
}
