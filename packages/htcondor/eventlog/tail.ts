import { type FileHandle, open, stat } from 'node:fs/promises';
import { type Clock, unlessGone } from '@updraft/base';
import { waitForChange } from '@updraft/base/processes';
import { createParser, type Parser, type ParserOptions } from './parse.ts';

/** What happened to a log's file, other than growing. */
export type Notice =
  /** It was truncated, and may have grown again: it is read from its start again. */
  | 'shrank'
  /** Another file has its name and is read from its start. */
  | 'replaced';

export interface TailOptions extends ParserOptions {
  onNotice?: ((notice: Notice) => void) | undefined;
}

const pieceSize = 1024 * 1024;
const headSize = 256;
/** How often to poll where the file system reports no changes. */
const slowPollMs = 2000;

/** Reads a growing log: each `read` gives the new complete events. A log that does not exist yet is empty. */
export class EventLogTail {
  readonly path: string;
  readonly #options: TailOptions;
  #parser: Parser;
  #inode = 0;
  /** Creation time of the file: another one may get the same inode. */
  #createdAt = 0;
  #offset = 0;
  #changedAt = 0;
  /** The log's first bytes: a truncated file may have grown longer than it was. */
  #head: Buffer = Buffer.alloc(0);

  constructor(path: string, options: TailOptions) {
    this.path = path;
    this.#options = options;
    this.#parser = createParser(options);
  }

  /** Reads what is new; true if there was anything. */
  async read(signal?: AbortSignal): Promise<boolean> {
    const found = await unlessGone(stat(this.path));
    if (found === undefined) return false;
    const unchanged = found.size === this.#offset && found.mtimeMs === this.#changedAt;
    if (found.ino === this.#inode && unchanged) return false;
    if (this.#inode !== 0 && found.ino !== this.#inode) {
      this.#notice('replaced');
      this.#restart();
    }
    return this.#readFile(signal);
  }

  async #readFile(signal: AbortSignal | undefined): Promise<boolean> {
    const opened = await unlessGone(open(this.path, 'r'));
    if (opened === undefined) return false;
    await using file = opened;
    const { ino, mtimeMs, birthtimeMs, size } = await file.stat();
    if (this.#inode !== 0) await this.#restartIfReplaced(file, size, birthtimeMs);
    this.#inode = ino;
    this.#createdAt = birthtimeMs;
    this.#changedAt = mtimeMs;
    const before = this.#offset;
    for (;;) {
      signal?.throwIfAborted();
      const { bytesRead, buffer } = await file.read(
        Buffer.allocUnsafeSlow(Math.min(pieceSize, Math.max(size - this.#offset, 1) + 1)),
        { position: this.#offset },
      );
      if (bytesRead === 0) break;
      const piece = buffer.subarray(0, bytesRead);
      if (this.#head.length < headSize && this.#offset === this.#head.length)
        this.#head = Buffer.concat([this.#head, piece.subarray(0, headSize - this.#head.length)]);
      this.#offset += bytesRead;
      this.#parser.feed(piece);
    }
    return this.#offset > before;
  }

  async #restartIfReplaced(file: FileHandle, size: number, createdAt: number): Promise<void> {
    const isOther = createdAt !== this.#createdAt;
    if (size >= this.#offset) {
      const { buffer } = await file.read(Buffer.alloc(this.#head.length), { position: 0 });
      if (buffer.equals(this.#head)) return;
    }
    this.#notice(isOther ? 'replaced' : 'shrank');
    this.#restart();
  }

  #restart(): void {
    this.#parser = createParser(this.#options);
    this.#inode = 0;
    this.#offset = 0;
    this.#head = Buffer.alloc(0);
  }

  #notice(notice: Notice): void {
    this.#options.onNotice?.(notice);
  }
}

export interface FollowOptions extends TailOptions {
  clock: Clock;
  signal: AbortSignal;
}

/** Reads a log and follows it; rejects with the signal's reason when that aborts. */
export async function followEventLog(path: string, options: FollowOptions): Promise<never> {
  const tail = new EventLogTail(path, options);
  for (;;) {
    const grew = await tail.read(options.signal);
    if (!grew) await waitForChange([path], slowPollMs, options.clock, options.signal);
  }
}
