import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileUser, isPrivate } from '@updraft/base';
import { Fault } from '../../fault.ts';
import type { Hasher } from '../proof/digest.ts';

const readBytes = 1 << 20;
const maxBlindBytes = 64 << 20;

const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;

/**
 * The file being fetched, under a name that nobody else gives. Writes are synchronous, which is cheapest. An existing
 * file is never truncated: another process may be fetching the same object into it, or may have published it.
 */
export class PartFile {
  readonly path: string;
  readonly #target: string;
  #fd: number;

  /** Opens or creates the file; keeps its content. */
  constructor(target: string) {
    if (ours.test(target))
      throw new Fault('file-invalid', `${target} is named like an unfinished download`, { about: target });
    this.#target = target;
    this.path = partPath(target);
    this.#fd = this.#open(0);
  }

  /** Whether no other user can have written to it. */
  get isOwn(): boolean {
    const info = fs.fstatSync(this.#fd);
    return info.nlink === 1 && isPrivate(info, fileUser() ?? info.uid);
  }

  get inode(): number {
    return fs.fstatSync(this.#fd).ino;
  }

  /** Starts a new file in place of the old one, even of an empty one: another process may be about to write to it. */
  restart(): void {
    withDiskFaults(this.path, () => {
      this.remove();
      fs.closeSync(this.#fd);
    });
    this.#fd = this.#open(O_EXCL);
  }

  /** Renames the file to its target; it must have this size. */
  publish(size: number): void {
    withDiskFaults(this.#target, () => {
      // Another process fetched the same object into the same part and was first.
      if (sameFile(fs.fstatSync(this.#fd), this.#target)) return;
      this.assertInPlace();
      fs.ftruncateSync(this.#fd, size);
      fs.renameSync(this.path, this.#target);
    });
  }

  /** Whether no other process has put its own part in place of ours. */
  get isInPlace(): boolean {
    return sameFile(fs.fstatSync(this.#fd), this.path);
  }

  assertInPlace(): void {
    if (this.isInPlace) return;
    throw new Fault('scratch-unusable', `${this.path}: another process is writing it, or has removed it`, {
      about: this.path,
      fix: 'let only one process at a time fetch into the same file',
    });
  }

  /** With its journal, which knows it by its inode: a new file may get the same. */
  remove(): void {
    for (const more of ['.json', '']) fs.rmSync(this.path + more, { force: true });
  }

  write(offset: number, chunk: Buffer): void {
    withDiskFaults(this.path, () => {
      for (let at = 0; at < chunk.length;)
        at += fs.writeSync(this.#fd, chunk, at, chunk.length - at, offset + at);
    });
  }

  /** Whether the file holds other bytes here. */
  differs(offset: number, chunk: Buffer): boolean {
    const there = Buffer.allocUnsafe(chunk.length);
    const read = withDiskFaults(this.path, () => fs.readSync(this.#fd, there, 0, there.length, offset));
    return read < chunk.length || !there.equals(chunk);
  }

  /** Throws a Fault if the disk has no room for an object of this size. */
  reserve(size: number): void {
    withDiskFaults(this.path, () => {
      const { bavail, bsize } = fs.statfsSync(path.dirname(this.path));
      const needed = size - fs.fstatSync(this.#fd).blocks * 512;
      const free = bavail * bsize;
      if (needed <= free) return;
      const folder = path.dirname(this.path);
      const [required, left] = [needed, free].map((bytes) => bytes.toLocaleString('en-US'));
      throw new Fault('disk-full', `${folder}: ${required} bytes needed, ${left} free`, {
        about: this.path,
        fix: 'free some space there, or choose a folder on a larger disk',
      });
    });
  }

  /** Bytes that may be written before the object's size is known: few, and fewer where the disk is nearly full. */
  blindLimit(): number {
    return withDiskFaults(this.path, () => {
      const { bavail, bsize } = fs.statfsSync(path.dirname(this.path));
      return Math.max(0, Math.min(maxBlindBytes, bavail * bsize - maxBlindBytes));
    });
  }

  get size(): number {
    return fs.fstatSync(this.#fd).size;
  }

  /** Feeds the bytes of a range to `hash`. */
  read(start: number, end: number, hash: Hasher): void {
    const buffer = Buffer.allocUnsafe(Math.min(readBytes, end - start));
    for (let at = start; at < end;) {
      const length = Math.min(buffer.length, end - at);
      const read = withDiskFaults(this.path, () => fs.readSync(this.#fd, buffer, 0, length, at));
      if (read === 0)
        throw new Fault('scratch-unusable', `${this.path} is shorter than what was written to it`);
      hash.update(buffer.subarray(0, read));
      at += read;
    }
  }

  /** Resolves when everything written so far is on the physical disk. */
  flush(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.fdatasync(this.#fd, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  close(): void {
    fs.closeSync(this.#fd);
  }

  #open(how: number): number {
    return withDiskFaults(this.path, () =>
      fs.openSync(this.path, O_RDWR | O_CREAT | O_NOFOLLOW | how, 0o666),
    );
  }
}

/** File systems allow no more bytes than this in a name, and the journal's name is longer than the part's. */
const maxNameBytes = 255 - '.updraft-part.json.new'.length;
const ours = /\.updraft-part(?:\.json)?$/;

/**
 * Where a file is while it is being fetched: beside the target, under its name, shortened if that is too long. What is
 * there is replaced, so it must never be a name that another program gives, as `.part`.
 */
export function partPath(target: string): string {
  const name = Buffer.from(path.basename(target));
  if (name.length <= maxNameBytes) return `${target}.updraft-part`;
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 16);
  return path.join(path.dirname(target), `${name.toString('utf8', 0, 190)}-${mark}.updraft-part`);
}

function sameFile({ ino, dev }: fs.Stats, file: string): boolean {
  const there = fs.statSync(file, { throwIfNoEntry: false });
  return there?.ino === ino && there.dev === dev;
}

const diskFull = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Runs a file operation; turns a system error into a Fault that names the file. */
export function withDiskFaults<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === undefined || error instanceof Fault) throw error;
    const kind = diskFull.has(code) ? 'disk-full' : 'scratch-unusable';
    throw new Fault(kind, `${file}: ${(error as Error).message}`, { about: file, cause: error });
  }
}
