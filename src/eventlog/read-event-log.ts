import { open, type FileHandle } from 'node:fs/promises';
import { Fault } from '../fault/fault.ts';
import type { Garbled, LogEvent } from './events.ts';
import { momentWithin } from './moment-within.ts';
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
export async function* readEventLog(
  path: string,
  options: ReadOptions = {},
): AsyncGenerator<LogEvent, void, void> {
  let events: LogEvent[] = [];
  await using file = await openLog(path);
  const parser = await parserFor(file, (event) => events.push(event), options);
  for (let more = true; more;) {
    more = await feedPiece(file, parser, options.signal);
    for (const event of events) yield event;
    events = [];
  }
}

/** Calls `onEvent` for every event of a log, in order: the fastest way through a log of millions of events. */
export async function scanEventLog(
  path: string,
  onEvent: (event: LogEvent) => void,
  options: ReadOptions = {},
): Promise<void> {
  await using file = await openLog(path);
  const parser = await parserFor(file, onEvent, options);
  while (await feedPiece(file, parser, options.signal));
}

async function parserFor(
  file: FileHandle,
  onEvent: (event: LogEvent) => void,
  { offsetMinutes, onGarbled }: ReadOptions,
): Promise<Parser> {
  const { mtimeMs } = await file.stat();
  const beginning = await file.read(Buffer.allocUnsafe(pieceSize), 0, pieceSize, 0);
  const within = momentWithin(beginning.buffer.subarray(0, beginning.bytesRead));
  return createParser({ reference: mtimeMs, within, offsetMinutes, onGarbled, onEvent });
}

/** Whether there was a piece; without one the log has ended. */
async function feedPiece(
  file: FileHandle,
  parser: Parser,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  signal?.throwIfAborted();
  const room = Buffer.allocUnsafeSlow(headroom + pieceSize);
  const { bytesRead } = await file.read(room, headroom, pieceSize, null);
  if (bytesRead === 0) parser.end();
  else parser.feed(room.subarray(0, headroom + bytesRead), headroom);
  return bytesRead > 0;
}

async function openLog(path: string): Promise<FileHandle> {
  try {
    const file = await open(path, 'r');
    if ((await file.stat()).isFile()) return file;
    await file.close();
  } catch (cause) {
    const what = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw new Fault('file-invalid', `The event log ${path} ${what}.`, {
      about: path,
      cause,
      fix: 'Name the log of the jobs, as `log` in their submit file says.',
    });
  }
  throw new Fault('file-invalid', `${path} is not a file, so it cannot be an event log.`, {
    about: path,
    fix: 'Name the log of the jobs, as `log` in their submit file says.',
  });
}
