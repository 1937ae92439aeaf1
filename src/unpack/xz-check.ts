import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Crc64 } from './crc64.ts';

/** A running check over a block's bytes. */
export interface XzCheck {
  /** Bytes the check takes after a block. */
  size: number;
  update(bytes: Buffer): void;
  matches(stated: Buffer): boolean;
}

/** The check a stream's header names by number; nothing if it is one we do not know. */
export function openXzCheck(type: number): XzCheck | undefined {
  switch (type) {
    case 0:
      return { size: 0, update: () => undefined, matches: () => true };
    case 1: {
      let sum = 0;
      return {
        size: 4,
        update: (bytes) => (sum = crc32(bytes, sum)),
        matches: (stated) => stated.readUInt32LE() === sum,
      };
    }
    case 4: {
      const sum = new Crc64();
      return {
        size: 8,
        update: (bytes) => sum.update(bytes),
        matches: (stated) => stated.equals(sum.digest()),
      };
    }
    case 10: {
      const hash = createHash('sha256');
      return {
        size: 32,
        update: (bytes) => void hash.update(bytes),
        matches: (stated) => stated.equals(hash.digest()),
      };
    }
    default:
      return undefined;
  }
}
