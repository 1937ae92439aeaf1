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
  /** A moment at or soon after the first date without a year, for a log that gives none itself. */
  within?: number | undefined;
  /** Gets every part that is no event. */
  onGarbled?: ((part: Garbled) => void) | undefined;
}

/** The beginning of a log: the time of its first event, and what is known of its year. */
export interface LogBeginning extends Dating {
  first: number | undefined;
  /** When the file was last written to. */
  writtenAt: number;
}

const chunkBytes = 1024 * 1024;
/** More than all but monstrous events need. */
const headroom = 16 * 1024;

/** The events of a log, in order; memory stays flat however long it is. Dates without a year end near the file's own. */
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

/** How a log begins; reads no more of it than that. */
export async function beginningOf(path: string, options: ReadOptions = {}): Promise<LogBeginning> {
  await using file = await openLog(path);
  const piece = await readChunk(file, options.signal);
  let first: number | undefined;
  const { parser, dating } = await parserFor(file, piece, ({ time }) => void (first ??= time), options);
  feed(parser, piece);
  return { ...dating, first, writtenAt: (await file.stat()).mtimeMs };
}

/**
 * Calls `onEvent` for every event of a log, in order: the fastest way through a log of millions of events. Gives what
 * is known of its year.
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

/** The next piece behind free room; nothing but the room at the end. Read in order alone, as a pipe must be. */
async function readChunk(file: FileHandle, signal: AbortSignal | undefined): Promise<Buffer> {
  signal?.throwIfAborted();
  const room = Buffer.allocUnsafeSlow(headroom + chunkBytes);
  const { bytesRead } = await file.read(room, headroom, chunkBytes, null);
  return room.subarray(0, headroom + bytesRead);
}

/** Whether there was a piece; without one the log has ended. */
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
      code === 'ENOENT' ? 'does not exist' : isForbidden ? 'may not be read by you' : 'cannot be read';
    throw new Fault('file-invalid', `The event log ${path} ${what}.`, {
      about: path,
      cause,
      fix: isForbidden ? 'Ask its owner to allow it, or for a copy.' : nameTheLog,
    });
  }
  throw new Fault('file-invalid', `${path} is not a file, so it cannot be an event log.`, {
    about: path,
    fix: nameTheLog,
  });
}

const nameTheLog = 'Name the log of the jobs, as `log` in their submit file says.';
