import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { adler32, crc32c } from './checksum.ts';

/** Digests that Pelican and XRootD servers offer, the ones to prefer first. */
export const algorithms = ['sha-256', 'sha', 'crc32c', 'crc32', 'md5', 'adler32'] as const;
export type Algorithm = (typeof algorithms)[number];

export interface Hasher {
  update(chunk: Buffer): void;
  hex(): string;
}

/** A running digest; its `hex` may be asked for once. */
export function hasher(algorithm: Algorithm): Hasher {
  if (algorithm === 'crc32c') return checksum(crc32c, 0);
  if (algorithm === 'crc32') return checksum((chunk, value) => crc32(chunk, value), 0);
  if (algorithm === 'adler32') return checksum(adler32, 1);
  const hash = createHash(algorithm === 'sha-256' ? 'sha256' : algorithm === 'sha' ? 'sha1' : 'md5');
  return { update: (chunk) => void hash.update(chunk), hex: () => hash.digest('hex') };
}

function checksum(step: (chunk: Buffer, value: number) => number, start: number): Hasher {
  let value = start;
  return {
    update: (chunk) => void (value = step(chunk, value)),
    hex: () => value.toString(16).padStart(8, '0'),
  };
}
