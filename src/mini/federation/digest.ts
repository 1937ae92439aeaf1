import { createHash } from 'node:crypto';
import type { StoredObject } from './stored-object.ts';

const hashNames = { md5: 'md5', sha: 'sha1', 'sha-256': 'sha256' } as const;
type Algorithm = keyof typeof hashNames | 'crc32c';

/** The algorithms of a Want-Digest header that we can answer, as in `md5,crc32c;q=0.5,sha`. */
export function wantedDigests(header: string | string[] | undefined): Algorithm[] {
  const asked = [header ?? []].flat().join(',').toLowerCase().split(',');
  const names = asked.map((item) => item.split(';')[0]?.trim() ?? '');
  return names.filter((name): name is Algorithm => name === 'crc32c' || name in hashNames);
}

/** Reads the whole object and gives the value of a Digest header: hex for crc32c, base64 for the others. */
export async function digestOf(object: StoredObject, algorithms: Algorithm[]): Promise<string> {
  const hashes = algorithms.map((name) => (name === 'crc32c' ? new Crc32c() : namedHash(name)));
  const buffer = Buffer.allocUnsafe(1024 * 1024);
  for (let position = 0; position < object.size;) {
    const length = await object.read(buffer, position);
    if (length === 0) throw new Error('the object ended early');
    for (const hash of hashes) hash.update(buffer.subarray(0, length));
    position += length;
  }
  return algorithms.map((name, index) => `${name}=${hashes[index]?.value() ?? ''}`).join(',');
}

function namedHash(name: keyof typeof hashNames): { update(bytes: Buffer): void; value(): string } {
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

  update(bytes: Buffer): void {
    let crc = this.#crc;
    for (const byte of bytes) crc = (crc >>> 8) ^ (crcTable[(crc ^ byte) & 0xff] ?? 0);
    this.#crc = crc;
  }

  value(): string {
    return (~this.#crc >>> 0).toString(16).padStart(8, '0');
  }
}
