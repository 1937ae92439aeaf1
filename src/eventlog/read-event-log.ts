import { open, type FileHandle } from 'node:fs/promises';
import { Fault } from '../fault/fault.ts';
import { datingOf, type Dating } from './dating.ts';
import type { Garbled, LogEvent } from './events.ts';
import { BatchIterator } from './batch-iterator.ts';
import { createParser, type Parser } from './parse.ts';

export interface ReadOptions {
  signal?: AbortSignal | undefined;
  /** Minutes east of UTC for times that name no zone; without it, this machine's local time. */
  offsetMinutes?: number | undefined;
  /** A time at or soon after the first date without a year, for a log that has no full date. */
  within?: number | undefined;
  /** Called for each part that is not an event. */
  onGarbled?: ((part: Garbled) => void) | undefined;
}

/** The start of a log: the time of its first event, and what is known about its year. */
export interface LogBeginning extends Dating {
  first: number | undefined;
  /** When the file was last written to. */
  writtenAt: number;
}

const chunkBytes = 1024 * 1024;
/** Longer than almost any event. */
const headroom = 16 * 1024;

/** The events of a log, in order, in constant memory. Dates without a year are placed before the file's own date. */
export const readEventLog = (path: string, options: ReadOptions = {}): AsyncIterableIterator<LogEvent> =>
  new BatchIterator(eventBatches(path, options));

async function* eventBatches(path: string, options: ReadOptions): AsyncGenerator<LogEvent[], void, void> {
  let events: LogEvent[] = [];
  await using file = await openLog(path);
  let piece = await readChunk(file, options.signal);
  const { parser } = await parserFor(file, piece, (event) => events.push(event), options);
  for (let more = true; more;) {
    more = feed(parser, piece);
    yield events;
    events = [];
    if (more) piece = await readChunk(file, options.signal);
  }
}

/** Reads only the start of a log. */
export async function beginningOf(path: string, options: ReadOptions = {}): Promise<LogBeginning> {
  await using file = await openLog(path);
  const piece = await readChunk(file, options.signal);
  let first: number | undefined;
  const { parser, dating } = await parserFor(file, piece, ({ time }) => void (first ??= time), options);
  feed(parser, piece);
  return { ...dating, first, writtenAt: (await file.stat()).mtimeMs };
}

/**
 * Calls `onEvent` for each event of a log, in order: the fastest way to read millions of events. Returns what is known
 * about its year.
 */
export async function scanEventLog(
  path: string,
  onEvent: (event: LogEvent) => void,
  options: ReadOptions = {},
): Promise<Dating> {
  await using file = await openLog(path);
  let piece = await readChunk(file, options.signal);
  const { parser, dating } = await parserFor(file, piece, onEvent, options);
  while (feed(parser, piece)) piece = await readChunk(file, options.signal);
  return dating;
}

async function parserFor(
  file: FileHandle,
  beginning: Buffer,
  onEvent: (event: LogEvent) => void,
  { offsetMinutes, onGarbled, within }: ReadOptions,
): Promise<{ parser: Parser; dating: Dating }> {
  const { mtimeMs } = await file.stat();
  const dating = datingOf(beginning.subarray(headroom));
  const parser = createParser({
    ...{ reference: mtimeMs, within: dating.moment ?? within },
    ...{ offsetMinutes, onGarbled, onEvent },
  });
  return { parser, dating };
}

/** The next piece, after free headroom; only headroom at the end of the log. Reads in order: it may be a pipe. */
async function readChunk(file: FileHandle, signal: AbortSignal | undefined): Promise<Buffer> {
  signal?.throwIfAborted();
  const room = Buffer.allocUnsafeSlow(headroom + chunkBytes);
  const { bytesRead } = await file.read(room, headroom, chunkBytes, null);
  return room.subarray(0, headroom + bytesRead);
}

/** Returns false at the end of the log. */
function feed(parser: Parser, piece: Buffer): boolean {
  const more = piece.length > headroom;
  if (more) parser.feed(piece, headroom);
  else parser.end();
  return more;
}

async function openLog(path: string): Promise<FileHandle> {
  try {
    const file = await open(path, 'r');
    const facts = await file.stat();
    if (facts.isFile() || facts.isFIFO()) return file;
    await file.close();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const isForbidden = code === 'EACCES';
    const what =
      code === 'ENOENT' ? 'does not exist' : isForbidden ? 'is not readable for you' : 'cannot be read';
    throw new Fault('file-invalid', `the event log ${path} ${what}`, {
      about: path,
      cause,
      fix: isForbidden ? 'ask its owner for permission, or for a copy' : nameTheLog,
    });
  }
  throw new Fault('file-invalid', `${path} is not a file, so it cannot be an event log`, {
    about: path,
    fix: nameTheLog,
  });
}

const nameTheLog = 'name the event log of the jobs: the file that `log` names in their submit file';
