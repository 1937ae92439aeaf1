import { open, stat, type FileHandle } from 'node:fs/promises';
import { defined } from '../base/defined.ts';
import { Fault } from '../fault/fault.ts';
import { decode } from './codec.ts';
import type { Entry } from './entry.ts';

const chunkBytes = 1 << 20;
/** No entry is nearly as long; a "line" that is must not fill memory. */
const maxLine = 1 << 20;
const newline = 0x0a;

/** What was appended to a journal since it was last read. */
export interface JournalGrowth {
  entries: Entry[];
  /** Lines that could not be parsed. */
  garbled: number;
  /** The file became shorter or was replaced: everything read before is obsolete. */
  restarted: boolean;
}

/** Reads a growing journal: each call returns the new complete lines. A missing journal is empty. */
export class JournalTail {
  readonly path: string;
  #offset = 0;
  #inode = 0;
  #changedAt: number | undefined;
  /** Bytes of an incomplete line. */
  #rest: Buffer = Buffer.alloc(0);
  #skipping = false;
  readonly #isWanted: (line: string) => boolean;

  /** Lines that are not wanted are skipped undecoded. */
  constructor(path: string, isWanted: (line: string) => boolean = () => true) {
    this.path = path;
    this.#isWanted = isWanted;
  }

  /** When the file last changed, by its file system's clock, in milliseconds. */
  get changedAt(): number | undefined {
    return this.#changedAt;
  }

  /** The last line, if it has no line end: a torn write, or one in progress. */
  get unfinished(): string | undefined {
    if (this.#skipping) return '';
    return this.#rest.length === 0 ? undefined : this.#rest.toString('utf8');
  }

  async read(): Promise<JournalGrowth> {
    const grown: JournalGrowth = { entries: [], garbled: 0, restarted: false };
    const found = await this.#ifThere(stat(this.path));
    // Most journals of a large run do not grow between two reads: those cost one call.
    if (found === undefined || (found.ino === this.#inode && found.size === this.#offset)) return grown;
    const file = await this.#ifThere(open(this.path, 'r'));
    if (file === undefined) return grown;
    try {
      const { size, ino, mtimeMs } = await file.stat();
      if (size < this.#offset || (this.#inode !== 0 && ino !== this.#inode)) {
        grown.restarted = true;
        this.#offset = 0;
        this.#rest = Buffer.alloc(0);
        this.#skipping = false;
      }
      this.#inode = ino;
      this.#changedAt = mtimeMs;
      await this.#readTo(file, size, grown);
    } finally {
      await file.close();
    }
    return grown;
  }

  async #readTo(file: FileHandle, end: number, grown: JournalGrowth): Promise<void> {
    while (this.#offset < end) {
      const want = Math.min(chunkBytes, end - this.#offset);
      const reading = file.read(Buffer.allocUnsafe(want), 0, want, this.#offset);
      const { bytesRead, buffer } = (await this.#ifThere(reading)) ?? {
        bytesRead: 0,
        buffer: Buffer.alloc(0),
      };
      if (bytesRead === 0) return;
      this.#offset += bytesRead;
      this.#take(buffer.subarray(0, bytesRead), grown);
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

  #take(bytes: Buffer, grown: JournalGrowth): void {
    let start = 0;
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      const rest = bytes.subarray(start, end);
      const line = (this.#rest.length === 0 ? rest : Buffer.concat([this.#rest, rest])).toString('utf8');
      this.#rest = Buffer.alloc(0);
      start = end + 1;
      if (this.#skipping) this.#skipping = false;
      else if (this.#isWanted(line)) addLine(line, grown);
    }
    if (this.#skipping) return;
    this.#rest = Buffer.concat([this.#rest, bytes.subarray(start)]);
    if (this.#rest.length <= maxLine) return;
    this.#rest = Buffer.alloc(0);
    this.#skipping = true;
    grown.garbled += 1;
  }
}

function addLine(line: string, grown: JournalGrowth): void {
  // A writer that finds a torn line starts a new one; if the line was complete by then, an empty line is left.
  if (line.trim() === '') return;
  const entry = decode(line);
  if (typeof entry === 'string') grown.garbled += 1;
  else grown.entries.push(entry);
}

/** The current content of a journal. */
interface JournalContent {
  entries: Entry[];
  /** Lines that could not be parsed, including a torn last line. */
  garbled: number;
  /** When it last changed, by its file system's clock, in milliseconds. */
  changedAt?: number;
}

/** Reads an entire journal; a missing one is empty. */
export async function readJournal(path: string): Promise<JournalContent> {
  const tail = new JournalTail(path);
  const { entries, garbled } = await tail.read();
  const changed = tail.changedAt === undefined ? {} : { changedAt: tail.changedAt };
  if (tail.unfinished === undefined) return { entries, garbled, ...changed };
  const last = decode(tail.unfinished);
  if (typeof last === 'string') return { entries, garbled: garbled + 1, ...changed };
  return { entries: [...entries, last], garbled, ...changed };
}

/** The last entries of a journal are within this. */
const endBytes = 4096;

/** The first entry of a journal and its last ones, without what is between; empty where it is damaged. */
export async function readJournalEnds(path: string): Promise<{ first?: Entry; last: Entry[] }> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const at = Math.max(0, size - endBytes);
    const end = await textAt(file, at, endBytes);
    // What is before the first line end belongs to a longer line, and what is after the last one is not complete.
    const lines = end.split('\n').slice(at === 0 ? 0 : 1, -1);
    const last = lines.flatMap((line) => decodedLine(line) ?? []);
    return { ...defined({ first: decodedLine(await firstLine(file)) }), last };
  } finally {
    await file.close();
  }
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
