import { type FileHandle, open, stat } from 'node:fs/promises';
import path from 'node:path';
import { defined } from '@updraft/base';
import { Fault } from '../fault/fault.ts';
import { decode } from './codec.ts';
import { runFiles } from './layout.ts';
import type { Entry } from './entry.ts';
import type { Damage } from './state.ts';

const chunkBytes = 1 << 16;
/** No entry is nearly as long; a "line" that is must not fill memory. */
const maxLine = 1 << 20;
const newline = 0x0a;

/** What was appended to a journal since it was last read. */
export interface JournalGrowth {
  entries: Entry[];
  /** The file became shorter or was replaced: everything read before is obsolete. */
  restarted: boolean;
}

/** Reads a growing journal: each call returns the new complete lines. A missing journal is empty. */
export class JournalTail {
  readonly path: string;
  #offset = 0;
  #inode = 0;
  /** When the file last changed, by its file system's clock, in milliseconds. */
  changedAt: number | undefined;
  /** Bytes of an incomplete line. */
  #rest: Buffer = Buffer.alloc(0);
  #skipping = false;
  #lines = 0;
  #garbled = 0;
  #firstGarbled = 0;
  readonly #isWanted: (line: string) => boolean;

  /** Lines that are not wanted are skipped undecoded. */
  constructor(path: string, isWanted: (line: string) => boolean = () => true) {
    this.path = path;
    this.#isWanted = isWanted;
  }

  /** The last line, if it has no line end: a torn write, or one in progress. */
  get unfinished(): string | undefined {
    if (this.#skipping) return '';
    return this.#rest.length === 0 ? undefined : this.#rest.toString('utf8');
  }

  /** Lines so far that could not be parsed, and the number of the first; undefined if all could be. */
  get damage(): Omit<Damage, 'file'> | undefined {
    return this.#garbled === 0 ? undefined : { lines: this.#garbled, first: this.#firstGarbled };
  }

  /** The last line, if it has no line end and the file will not grow. */
  finish(): Entry | undefined {
    return this.unfinished === undefined ? undefined : this.#decode(this.unfinished);
  }

  async read(): Promise<JournalGrowth> {
    const grown: JournalGrowth = { entries: [], restarted: false };
    await this.readParts(({ entries, restarted }) => {
      for (const entry of entries) grown.entries.push(entry);
      grown.restarted ||= restarted;
    });
    return grown;
  }

  /**
   * The same in parts of bounded size: the reports of a long training need not fit in memory. Not a generator, which
   * would keep a part until the next one is read, for each of many journals.
   */
  async readParts(take: (part: JournalGrowth) => void): Promise<void> {
    const found = await this.#ifThere(stat(this.path));
    // Most journals of a large run do not grow between two reads: those cost one call.
    if (found === undefined || found.isFIFO() || (found.ino === this.#inode && found.size === this.#offset))
      return;
    const file = await this.#ifThere(open(this.path, 'r'));
    if (file === undefined) return;
    try {
      const { size, ino, mtimeMs } = await file.stat();
      if (size < this.#offset || (this.#inode !== 0 && ino !== this.#inode)) {
        this.#offset = 0;
        this.#rest = Buffer.alloc(0);
        this.#skipping = false;
        this.#lines = this.#garbled = 0;
        take({ entries: [], restarted: true });
      }
      this.#inode = ino;
      this.changedAt = mtimeMs;
      await this.#readTo(file, size, take);
    } finally {
      await file.close();
    }
  }

  async #readTo(file: FileHandle, end: number, take: (part: JournalGrowth) => void): Promise<void> {
    const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, end - this.#offset));
    while (this.#offset < end) {
      const want = Math.min(buffer.length, end - this.#offset);
      const { bytesRead = 0 } = (await this.#ifThere(file.read(buffer, 0, want, this.#offset))) ?? {};
      if (bytesRead === 0) return;
      this.#offset += bytesRead;
      take(this.#grownBy(buffer.subarray(0, bytesRead)));
    }
  }

  async #ifThere<T>(file: Promise<T>): Promise<T | undefined> {
    try {
      return await file;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      const reason = error instanceof Error ? error.message : String(error);
      throw new Fault('file-invalid', `cannot read the journal ${this.path}: ${reason}`, {
        about: this.path,
        fix: "check the file's permissions and its disk, then run the same command again",
        cause: error,
      });
    }
  }

  #grownBy(bytes: Buffer): JournalGrowth {
    const grown: JournalGrowth = { entries: [], restarted: false };
    const end = bytes.lastIndexOf(newline);
    if (end >= 0) {
      // One text for all lines: no character goes past a line end.
      const text = Buffer.concat([this.#rest, bytes.subarray(0, end)]).toString('utf8');
      this.#rest = Buffer.alloc(0);
      for (const line of text.split('\n')) {
        const entry = this.#skipping || !this.#isWanted(line) ? undefined : this.#decode(line);
        if (entry !== undefined) grown.entries.push(entry);
        this.#skipping = false;
        this.#lines += 1;
      }
    }
    if (this.#skipping) return grown;
    this.#rest = Buffer.concat([this.#rest, bytes.subarray(end + 1)]);
    if (this.#rest.length <= maxLine) return grown;
    this.#rest = Buffer.alloc(0);
    this.#skipping = true;
    this.#countGarbled();
    return grown;
  }

  /** The entry of the line after those that were counted. */
  #decode(line: string): Entry | undefined {
    const entry = decode(line);
    if (typeof entry !== 'string') return entry;
    // A writer that finds a torn line starts a new one; if the line was complete by then, an empty line is left.
    if (line.trim() !== '') this.#countGarbled();
    return undefined;
  }

  #countGarbled(): void {
    this.#garbled += 1;
    if (this.#garbled === 1) this.#firstGarbled = this.#lines + 1;
  }
}

/** Reads an entire journal, and counts its unreadable lines, also a torn last one; a missing one is empty. */
export async function readJournal(file: string): Promise<{ entries: Entry[]; garbled: number }> {
  const tail = new JournalTail(file);
  const all: Entry[] = [];
  await readWhole(tail, (entries) => {
    for (const entry of entries) all.push(entry);
  });
  return { entries: all, garbled: tail.damage?.lines ?? 0 };
}

/** An entire journal in parts of bounded size, with a last line that has no line end. */
export async function readWhole(tail: JournalTail, take: (entries: Entry[]) => void): Promise<void> {
  await tail.readParts(({ entries }) => take(entries));
  const last = tail.finish();
  if (last !== undefined) take([last]);
}

/** The last entries of a journal are within this. */
const endBytes = 4096;

/** The first entry of a journal and its last ones, without what is between; empty where it is damaged. */
export async function readJournalEnds(journal: string): Promise<{ first?: Entry; last: Entry[] }> {
  await using file = await open(journal, 'r');
  const { size } = await file.stat();
  const at = Math.max(0, size - endBytes);
  const end = await textAt(file, at, endBytes);
  // What is before the first line end belongs to a longer line, and what is after the last one is not complete.
  const lines = end.split('\n').slice(at === 0 ? 0 : 1, -1);
  const last = lines.flatMap((line) => decodedLine(line) ?? []);
  return { ...defined({ first: decodedLine(await firstLine(file)) }), last };
}

/** The first entry names every job: it is short for most runs, and long for some. */
async function firstLine(file: FileHandle): Promise<string> {
  for (let bytes = 1 << 14; bytes <= maxLine; bytes *= 8) {
    const text = await textAt(file, 0, bytes);
    const end = text.indexOf('\n');
    if (end >= 0) return text.slice(0, end);
  }
  return '';
}

async function textAt(file: FileHandle, at: number, bytes: number): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(bytes), 0, bytes, at);
  return buffer.toString('utf8', 0, bytesRead);
}

function decodedLine(line: string): Entry | undefined {
  const entry = decode(line);
  return typeof entry === 'string' ? undefined : entry;
}

/** The entries of a run's own journal. */
export const readRunJournal = async (runFolder: string): Promise<Entry[]> =>
  (await readJournal(path.join(runFolder, runFiles.journal))).entries;
