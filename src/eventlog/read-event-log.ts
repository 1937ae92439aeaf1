import { open, type FileHandle } from 'node:fs/promises';
import { Fault } from '../fault/fault.ts';
import type { Garbled, LogEvent } from './events.ts';
import { momentWithin } from './moment-within.ts';
import { OneByOne } from './one-by-one.ts';
import { createParser, type Parser } from './parse.ts';

export interface ReadOptions {
  signal?: AbortSignal | undefined;
  /** Minutes east of UTC for times that name no zone; without it, this machine's local time. */
  offsetMinutes?: number | undefined;
  /** Gets every part that is no event. */
  onGarbled?: ((part: Garbled) => void) | undefined;
}

const pieceSize = 1024 * 1024;
/** More than all but monstrous events need. */
const headroom = 16 * 1024;

/** The events of a log, in order; memory stays flat however long it is. Dates without a year end near the file's own. */
export const readEventLog = (path: string, options: ReadOptions = {}): AsyncIterableIterator<LogEvent> =>
  new OneByOne(eventsByPiece(path, options));

async function* eventsByPiece(path: string, options: ReadOptions): AsyncGenerator<LogEvent[], void, void> {
  let events: LogEvent[] = [];
  await using file = await openLog(path);
  let piece = await readPiece(file, options.signal);
  const parser = await parserFor(file, piece, (event) => events.push(event), options);
  for (let more = true; more;) {
    more = feed(parser, piece);
    yield events;
    events = [];
    if (more) piece = await readPiece(file, options.signal);
  }
}

/** Calls `onEvent` for every event of a log, in order: the fastest way through a log of millions of events. */
export async function scanEventLog(
  path: string,
  onEvent: (event: LogEvent) => void,
  options: ReadOptions = {},
): Promise<void> {
  await using file = await openLog(path);
  let piece = await readPiece(file, options.signal);
  const parser = await parserFor(file, piece, onEvent, options);
  while (feed(parser, piece)) piece = await readPiece(file, options.signal);
}

async function parserFor(
  file: FileHandle,
  beginning: Buffer,
  onEvent: (event: LogEvent) => void,
  { offsetMinutes, onGarbled }: ReadOptions,
): Promise<Parser> {
  const { mtimeMs } = await file.stat();
  const within = momentWithin(beginning.subarray(headroom));
  return createParser({ reference: mtimeMs, within, offsetMinutes, onGarbled, onEvent });
}

/** The next piece behind free room; nothing but the room at the end. Read in order alone, as a pipe must be. */
async function readPiece(file: FileHandle, signal: AbortSignal | undefined): Promise<Buffer> {
  signal?.throwIfAborted();
  const room = Buffer.allocUnsafeSlow(headroom + pieceSize);
  const { bytesRead } = await file.read(room, headroom, pieceSize, null);
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
