import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { livePageBytes, livePageHead } from '../../job/live-page.ts';

/**
 * Keeps the end of a growing log as a page in a file that the pool shows while the job runs. Failures here do not
 * affect the attempt: the log itself is returned in the end.
 */
export class LiveCopy {
  readonly log: string;
  readonly #to: number;
  #offset = 0;
  #room = 0;
  #pages = 0;
  #failed = false;

  /** `to` is open for appending. */
  constructor(log: string, to: number) {
    this.log = log;
    this.#to = to;
  }

  /** Copies what the log gained, within its first `maxBytes` bytes. */
  copy(maxBytes = Infinity): void {
    if (this.#failed) return;
    let log: number | undefined;
    try {
      log = openSync(this.log, 'r');
      this.#copyFrom(log, maxBytes);
    } catch (error) {
      // Removed by the training: it may come back. Otherwise the disk is full, or the page is not a file.
      this.#failed = (error as NodeJS.ErrnoException).code !== 'ENOENT';
    } finally {
      if (log !== undefined) closeSync(log);
    }
  }

  #copyFrom(log: number, maxBytes: number): void {
    const size = Math.min(fstatSync(log).size, maxBytes);
    if (size === this.#offset) return;
    if (size < this.#offset || size - this.#offset > this.#room) this.#startPage(size);
    const bytes = Buffer.allocUnsafe(size - this.#offset);
    const read = readSync(log, bytes, 0, bytes.length, this.#offset);
    this.#write(bytes.subarray(0, read));
    this.#offset += read;
    this.#room -= read;
  }

  /** Starts a page, half full if the log is long enough: a reader wants to see the lines before. */
  #startPage(size: number): void {
    try {
      ftruncateSync(this.#to, 0);
    } catch (error) {
      // A pipe cannot be emptied: it gets one page.
      if (this.#pages > 0) throw error;
    }
    this.#pages += 1;
    this.#offset = Math.max(0, size - livePageBytes / 2);
    this.#room = livePageBytes;
    this.#write(Buffer.from(livePageHead(this.#offset)));
  }

  #write(bytes: Buffer): void {
    for (let done = 0; done < bytes.length;) done += writeSync(this.#to, bytes, done);
  }
}
