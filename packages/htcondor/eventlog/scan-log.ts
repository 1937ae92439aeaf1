import { counted, firstFew, printable } from '@updraft/base';
import { Fault } from '../fault.ts';
import type { Garbled, LogEvent } from './events.ts';
import { latin1Text } from './log-text.ts';
import { createParser, type Parser } from './parse.ts';

/** Where the bytes of a log come from: a file, a pipe, an upload. */
export interface LogSource {
  /** As the user named it. */
  readonly name: string;
  /** The log that it is a rotated part of, or the DAG whose log it is. */
  readonly partOf?: string;
  /** When it was last written to, in milliseconds since the epoch: dates without a year are placed before it. */
  readonly writtenAt: number;
  /** Its size as stored; undefined for a pipe. */
  readonly size?: number;
  /** The number of the user whose file it is; undefined for a pipe. */
  readonly uid?: number;
  /** Files of its folder that may be logs, and could not be read. */
  unread?: string[];
  /** Its bytes from the start, uncompressed; a piece may be overwritten once the next one is requested. */
  open(): AsyncIterable<Uint8Array>;
}

/** Sentences about logs that could not be read. */
export const unreadNotes = (sources: readonly LogSource[]): string[] =>
  sources.flatMap(({ unread = [] }) =>
    unread.length === 0
      ? []
      : `Left out ${counted(unread.length, 'file')} that cannot be read: ${firstFew(unread.map(printable), 3)}.`,
  );

export interface ReadOptions {
  signal?: AbortSignal | undefined;
  /** Minutes east of UTC for times that name no zone; without it, this machine's local time. */
  offsetMinutes?: number | undefined;
  /** A time at or soon after the first date without a year, for a log that has no full date. */
  within?: number | undefined;
  /** Called for each part that is not an event. */
  onGarbled?: ((part: Garbled) => void) | undefined;
  /** Whether nobody keeps an event: then its bytes are used again, and take no memory beyond two pieces. */
  isPassing?: boolean | undefined;
}

const yearlessHeader = /^\d{3} \([-\d.]+\) \d\d\/\d\d \d\d:/m;
const moments =
  /(?:own accord|by itself) at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z|\bEventTime = "(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)/;

/** Whether the dates of a log have no year, and a moment that it gives in full all the same. */
export interface Dating {
  isYearless: boolean;
  moment: number | undefined;
}

/** What the beginning of a log says of its year, where the file's own date does not, as after a copy. */
export function datingOf(beginning: Uint8Array): Dating {
  if (!yearlessHeader.test(latin1Text(beginning, 0, Math.min(beginning.length, 65_536))))
    return { isYearless: false, moment: undefined };
  const match = moments.exec(latin1Text(beginning, 0, beginning.length));
  const moment = match ? Date.parse(`${match[1] ?? match[2] ?? ''}Z`) : NaN;
  return { isYearless: true, moment: Number.isNaN(moment) ? undefined : moment };
}

/** The start of a log: the time of its first event, and what is known about its year. */
export interface LogBeginning extends Dating {
  first: number | undefined;
}

/** What is read of a log to find its year and its place among others. */
export const beginningBytes = 1024 * 1024;
/** Longer than almost any event. */
const headroom = 16 * 1024;

/** A log that is read piece by piece. */
export interface OpenLog {
  dating: Dating;
  /** Reads the next piece; false at the end of the log. */
  next(): Promise<boolean>;
  close(): Promise<void>;
}

/** Opens a log, and reads its first piece when `next` is called. */
export async function openLog(
  source: LogSource,
  onEvent: (event: LogEvent) => void,
  { signal, offsetMinutes, onGarbled, within, isPassing = false }: ReadOptions = {},
): Promise<OpenLog> {
  signal?.throwIfAborted();
  const pieces = gather(source.open(), beginningBytes);
  let piece = await pieces.next();
  const dating = datingOf(piece.done === true ? new Uint8Array() : piece.value);
  let syntax: string | undefined;
  const parser = createParser({
    reference: source.writtenAt,
    within: dating.moment ?? within,
    offsetMinutes,
    onEvent,
    isPassing,
    onGarbled: (part) => {
      syntax ??= otherSyntax(part.bytes);
      onGarbled?.(part);
    },
  });
  let isFirst = true;
  const rooms = isPassing ? new TwoRooms() : undefined;
  return {
    dating,
    async next() {
      signal?.throwIfAborted();
      if (!isFirst) piece = await pieces.next();
      isFirst = false;
      if (piece.done === true) parser.end();
      else feed(parser, piece.value, rooms?.next(headroom + piece.value.length));
      if (syntax !== undefined) throw otherLog(source.name, syntax);
      return piece.done !== true;
    },
    async close() {
      await pieces.return();
    },
  };
}

/** The same bytes; the first piece has at least `size` of them, unless all are fewer. */
export async function* gather(
  source: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<Uint8Array, void, void> {
  let head: Uint8Array | undefined = new Uint8Array();
  for await (const piece of source) {
    const isWhole = head === undefined || (head.length === 0 && piece.length >= size);
    // What is kept is a copy: the source may reuse its bytes.
    const joined: Uint8Array = isWhole ? piece : join(head ?? piece, piece);
    head = head !== undefined && joined.length < size ? joined : undefined;
    if (head === undefined) yield joined;
  }
  if (head !== undefined && head.length > 0) yield head;
}

/** Events keep their bytes, and a source may reuse its own: the copy leaves room for the rest of the last piece. */
function feed(parser: Parser, piece: Uint8Array, room = new Uint8Array(headroom + piece.length)): void {
  room.set(piece, headroom);
  parser.feed(room, headroom);
}

/** Bytes in turn from two buffers: the rest of a piece is copied into the next. */
class TwoRooms {
  #room: Uint8Array<ArrayBuffer> = new Uint8Array();
  #other: Uint8Array<ArrayBuffer> = new Uint8Array();

  next(size: number): Uint8Array<ArrayBuffer> {
    [this.#room, this.#other] = [this.#other, this.#room];
    if (this.#room.length < size) this.#room = new Uint8Array(size);
    return this.#room.subarray(0, size);
  }
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/**
 * Calls `onEvent` for each event of a log, in order: the fastest way to read millions of events. Returns what is known
 * about its year.
 */
export async function scanLog(
  source: LogSource,
  onEvent: (event: LogEvent) => void,
  options: ReadOptions = {},
): Promise<Dating> {
  const log = await openLog(source, onEvent, options);
  try {
    while (await log.next());
  } finally {
    await log.close();
  }
  return log.dating;
}

/** Enough to recognize a log. */
export const headBytes = 64 * 1024;

/** Whether a file that begins with these bytes is an event log, and not one that only quotes events. */
export function isEventLog(beginning: Uint8Array): boolean {
  let [events, garbled] = [0, 0];
  const parser = createParser({
    reference: 0,
    onEvent: () => void (events += 1),
    onGarbled: ({ bytes }) => void (garbled += bytes.length),
  });
  feed(parser, beginning);
  parser.end();
  // One in another syntax too, so that whoever reads it refuses it by name.
  return otherSyntax(beginning) !== undefined || (events > 0 && garbled * 2 < beginning.length);
}

/** The syntax of events among bytes that are no event in text. */
export function otherSyntax(bytes: Uint8Array): 'XML' | 'JSON' | undefined {
  const text = latin1Text(bytes, 0, Math.min(bytes.length, headBytes));
  if (/^<c>/m.test(text) && text.includes('<a n="EventTypeNumber">')) return 'XML';
  return /^\{/m.test(text) && text.includes('"EventTypeNumber":') ? 'JSON' : undefined;
}

export const otherLog = (name: string, syntax: string): Fault =>
  new Fault('file-invalid', `${printable(name)} has events in ${syntax}, which Updraft does not read`, {
    about: name,
    fix:
      (syntax === 'XML'
        ? 'take log_xml out of the submit file: the log of the next jobs is text'
        : 'name the log that the submit file names: it is text') +
      '; what became of the present ones: condor_q -l CLUSTER | updraft why -, or ' +
      'condor_history -l CLUSTER | updraft why -',
  });

/** Reads only the start of a log. */
export async function beginningOf(source: LogSource, options: ReadOptions = {}): Promise<LogBeginning> {
  let first: number | undefined;
  const log = await openLog(source, ({ time }) => void (first ??= time), options);
  try {
    await log.next();
  } finally {
    await log.close();
  }
  return { ...log.dating, first };
}
