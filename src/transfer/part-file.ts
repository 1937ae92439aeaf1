import fs from 'node:fs';
import path from 'node:path';
import { Fault } from '../fault/fault.ts';
import type { Algorithm, Hasher } from './hasher.ts';
import { hasher } from './hasher.ts';

const readBytes = 1 << 20;

/** The file that is being fetched, under its `.part` name. Writes are synchronous: that costs least. */
export class PartFile {
  readonly path: string;
  readonly #fd: number;

  /** Opens or creates it; what it holds is kept. */
  constructor(target: string) {
    this.path = `${target}.part`;
    this.#fd = onDisk(this.path, () =>
      fs.openSync(this.path, fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_NOFOLLOW, 0o666),
    );
  }

  write(offset: number, chunk: Buffer): void {
    onDisk(this.path, () => {
      for (let at = 0; at < chunk.length;)
        at += fs.writeSync(this.#fd, chunk, at, chunk.length - at, offset + at);
    });
  }

  /** Throws a Fault if the disk has no room for an object of this size. */
  reserve(size: number): void {
    onDisk(this.path, () => {
      const { bavail, bsize } = fs.statfsSync(path.dirname(this.path));
      const needed = size - fs.fstatSync(this.#fd).blocks * 512;
      const free = bavail * bsize;
      if (needed <= free) return;
      throw new Fault('disk-full', `${path.dirname(this.path)}: ${needed} bytes needed, ${free} free`, {
        about: this.path,
        fix: 'Free some space there, or choose a folder on a larger disk.',
      });
    });
  }

  /** A file that is already so long is left alone: ext4 writes one out at its close once it was cut to nothing. */
  truncate(size: number): void {
    if (this.size !== size) onDisk(this.path, () => fs.ftruncateSync(this.#fd, size));
  }

  get size(): number {
    return fs.fstatSync(this.#fd).size;
  }

  /** Feeds the bytes of a range to `hash`. */
  read(start: number, end: number, hash: Hasher): void {
    const buffer = Buffer.allocUnsafe(Math.min(readBytes, end - start));
    for (let at = start; at < end;) {
      const length = Math.min(buffer.length, end - at);
      const read = onDisk(this.path, () => fs.readSync(this.#fd, buffer, 0, length, at));
      if (read === 0)
        throw new Fault('scratch-unusable', `${this.path} is shorter than what was written to it`);
      hash.update(buffer.subarray(0, read));
      at += read;
    }
  }

  hash(algorithm: Algorithm, start: number, end: number): string {
    const hash = hasher(algorithm);
    this.read(start, end, hash);
    return hash.hex();
  }

  /** Resolves when everything written so far is on the disk itself. */
  flush(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.fdatasync(this.#fd, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  close(): void {
    fs.closeSync(this.#fd);
  }
}

const diskFull = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Runs a file operation; what the system refuses becomes a Fault that names the file. */
export function onDisk<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === undefined || error instanceof Fault) throw error;
    const kind = diskFull.has(code) ? 'disk-full' : 'scratch-unusable';
    throw new Fault(kind, `${file}: ${(error as Error).message}`, { about: file, cause: error });
  }
}
