import { isDigit } from './log-text.ts';
import type { Zone } from './events.ts';
import type { StampReader } from './stamp.ts';

/** Receives the parts of a log. Their bytes are not changed afterwards; a header is used again. */
export interface FrameSink {
  /** A text event; `whole` if it has its closing line. */
  text(bytes: Uint8Array, start: number, end: number, header: Header, whole: boolean, offset: number): void;
  garbled(bytes: Uint8Array, offset: number): void;
}

type State = 'between' | 'text' | 'garbled';

/** No input may make the reader buffer everything: a longer event loses its middle, other parts pass as they are. */
const maxPartBytes = 4 * 1024 * 1024;
/** What stays at each end of such an event: a hold's code is in its last line. */
const keptBytes = 64 * 1024;

const [newline, tab, parenthesis] = [0x0a, 0x09, 0x28];

/** Cuts a log, in pieces of any size, into events and parts that are not events. */
export class Framer {
  readonly #headers: HeaderReader;
  readonly #sink: FrameSink;
  #bytes: Uint8Array = new Uint8Array();
  /** How many of `#bytes` are filled, and their offset in the log. */
  #used = 0;
  #base = 0;
  /** Whether the free bytes after `#used` may be written to. */
  #owned = false;
  #state: State = 'between';
  #start = 0;
  /** Of the open event, and one for the next: both are used again and again. */
  #header = emptyHeader();
  #nextHeader = emptyHeader();
  #line = 0;
  #at = 0;
  /** Bytes that were taken out of the open event. */
  #cut = 0;
  /** Where a header may begin inside the line, as after an interrupted write; or -1. */
  #glued = -1;

  constructor(headers: HeaderReader, sink: FrameSink) {
    this.#headers = headers;
    this.#sink = sink;
  }

  /** Takes the next piece, which must not be changed afterwards: events are decoded from it later. */
  feed(piece: Uint8Array, headroom = 0): void {
    this.#append(piece, headroom);
    this.#scan();
    if (this.#used - this.#keepFrom() <= maxPartBytes) return;
    if (this.#state === 'text') this.#shorten();
    else this.#flush();
  }

  /** The log ends here. */
  end(): void {
    if (this.#line < this.#used) this.#endLine(this.#used);
    this.#line = this.#at = this.#used;
    this.#close(this.#used, false);
  }

  /** Looks at line ends and opening parentheses; passes over four bytes at once where there are none. */
  #scan(): void {
    const bytes = this.#bytes;
    const used = this.#used;
    const offset = bytes.byteOffset;
    const words = new Int32Array(bytes.buffer, 0, (offset + used) >> 2);
    let line = this.#line;
    let glued = this.#glued;
    let isText = this.#state === 'text';
    for (let at = this.#at; at < used;) {
      let word = (at + offset) >> 2;
      if (((at + offset) & 3) === 0) {
        while (word < words.length && !mayHaveMark(words[word] ?? 0)) word += 1;
        at = word * 4 - offset;
      }
      for (const end = Math.min(word * 4 - offset + 4, used); at < end; at++) {
        if (bytes[at] === newline) {
          // Most lines of an event begin with a tab and are of no interest here.
          if (bytes[line] !== tab || !isText || glued !== -1) {
            this.#line = line;
            this.#glued = glued;
            this.#endLine(at);
            isText = this.#state === 'text';
          }
          line = at + 1;
          glued = -1;
        } else if (bytes[at] === parenthesis && glued === -1 && at - 4 > line) {
          if (looksLikeHeader(bytes, at - 4)) glued = at - 4;
        }
      }
    }
    this.#line = line;
    this.#glued = glued;
    this.#at = used;
  }

  /** Handles the line that ends at `end`. The first bytes are enough to skip most lines. */
  #endLine(end: number): void {
    let line = this.#line;
    const bytes = this.#bytes;
    while (line < end && (bytes[line] === 0 || isByteOrderMark(bytes, line)))
      line += bytes[line] === 0 ? 1 : 3;
    const first = bytes[line];
    if (line > this.#line && this.#state !== 'text') this.#skip(line);
    if (first === 0x2e && isSeparator(bytes, line, end)) this.#separator(end);
    else if (first !== undefined && first >= 0x30 && first <= 0x39 && this.#begins(line, end)) return;
    else if (this.#state === 'between' && !isBlank(bytes, line, end)) {
      this.#start = line;
      this.#state = 'garbled';
    }
    if (this.#glued !== -1) this.#unglue(end);
  }

  /** NULs (holes left by a network file system) and byte order marks before an event are not part of it. */
  #skip(line: number): void {
    if (this.#state === 'between') this.#start = line;
  }

  #begins(line: number, end: number): boolean {
    if (!this.#headers.read(this.#bytes, line, end, this.#nextHeader)) return false;
    this.#close(line, false);
    this.#open(line);
    if (this.#glued === line) this.#glued = nextHeader(this.#bytes, line + 5, end);
    if (this.#glued !== -1) this.#unglue(end);
    return true;
  }

  #open(start: number): void {
    [this.#header, this.#nextHeader] = [this.#nextHeader, this.#header];
    this.#state = 'text';
    this.#start = start;
  }

  #separator(end: number): void {
    this.#close(this.#line, true);
    this.#start = end + 1;
  }

  /** Ends the open part, if any, before `end`. */
  #close(end: number, whole: boolean): void {
    const state = this.#state;
    this.#state = 'between';
    if (state === 'text') {
      const offset = this.#base + this.#start - this.#cut;
      this.#cut = 0;
      this.#sink.text(this.#bytes, this.#start, end, this.#header, whole, offset);
    } else if (state !== 'between') this.#garbled(this.#start, end);
  }

  #garbled(start: number, end: number): void {
    this.#sink.garbled(this.#bytes.subarray(start, end), this.#base + start);
  }

  /** After an interrupted write, the next event starts on the same line. */
  #unglue(end: number): void {
    const bytes = this.#bytes;
    for (let at = this.#glued; at !== -1 && at < end; at = nextHeader(bytes, at + 5, end)) {
      if (!this.#headers.read(bytes, at, end, this.#nextHeader)) continue;
      if (this.#state === 'between') this.#garbled(this.#line, at);
      else this.#close(at, false);
      this.#open(at);
    }
    this.#glued = -1;
  }

  /** Takes the middle out of an event that is too long. */
  #shorten(): void {
    const event = this.#bytes.subarray(this.#start, this.#used);
    this.#rebase(this.#start);
    const end = event.length - keptBytes;
    const removed = end - keptBytes;
    this.#sink.garbled(event.subarray(keptBytes, end), this.#base + keptBytes);
    this.#bytes = new Uint8Array(maxPartBytes);
    this.#owned = true;
    this.#bytes.set(event.subarray(0, keptBytes));
    this.#bytes.set(event.subarray(end), keptBytes);
    this.#line = this.#line < end ? Math.min(this.#line, keptBytes) : this.#line - removed;
    this.#glued = this.#glued < end ? -1 : this.#glued - removed;
    this.#used = this.#at = keptBytes * 2;
    this.#base += removed;
    this.#cut += removed;
  }

  /** Hands over a part that is too long and is no event. */
  #flush(): void {
    if (this.#state === 'between') this.#start = this.#line;
    this.#state = 'garbled';
    this.#close(this.#used, false);
    this.#start = this.#line = this.#at;
    this.#glued = -1;
    this.#state = 'between';
  }

  #keepFrom(): number {
    return this.#state === 'between' ? this.#line : this.#start;
  }

  #append(piece: Uint8Array, headroom: number): void {
    const from = this.#keepFrom();
    const pending = this.#used - from;
    const added = piece.length - headroom;
    if (this.#owned && this.#bytes.length - this.#used >= added) {
      this.#bytes.set(piece.subarray(headroom), this.#used);
      this.#used += added;
      // Another view: whoever decoded the bytes before must not take them for the same.
      this.#bytes = this.#bytes.subarray();
      return;
    }
    const previous = this.#bytes;
    const fits = pending <= headroom;
    const start = fits ? headroom - pending : 0;
    this.#bytes = fits ? piece : new Uint8Array(Math.max(pending * 2, pending + added));
    this.#owned = !fits;
    this.#bytes.set(previous.subarray(from, this.#used), start);
    if (!fits) this.#bytes.set(piece.subarray(headroom), pending);
    this.#used = start + pending + added;
    this.#rebase(from - start);
  }

  /** Shifts every position by `from`. */
  #rebase(from: number): void {
    this.#base += from;
    this.#start -= from;
    this.#line -= from;
    this.#at -= from;
    if (this.#glued !== -1) this.#glued -= from;
    this.#header.timeAt -= from;
    this.#header.timeEnd -= from;
  }
}

const isByteOrderMark = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf;

/** Three dots and nothing else but blanks. */
const isSeparator = (bytes: Uint8Array, at: number, end: number): boolean =>
  bytes[at + 1] === 0x2e && bytes[at + 2] === 0x2e && at + 3 <= end && isBlank(bytes, at + 3, end);

function isBlank(bytes: Uint8Array, from: number, end: number): boolean {
  for (let at = from; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d && byte !== 0) return false;
  }
  return true;
}

function nextHeader(bytes: Uint8Array, from: number, end: number): number {
  for (let at = from; at + 5 < end; at++) if (looksLikeHeader(bytes, at)) return at;
  return -1;
}

/**
 * Whether one of four bytes is a line end or an opening parenthesis; also true for two rare ones. The classic trick
 * that finds a zero byte in a word, without the two bits in which these bytes differ.
 */
function mayHaveMark(word: number): boolean {
  const masked = (word & 0xdddddddd) ^ 0x08080808;
  return ((masked - 0x01010101) & ~masked & 0x80808080) !== 0;
}

/** The first line of a text event: `NNN (CCC.PPP.SSS) DATE TIME title`. */
export interface Header {
  number: number;
  cluster: number;
  proc: number;
  subproc: number;
  time: number;
  zone: Zone;
  /** Where the time begins and ends; the title follows. */
  timeAt: number;
  timeEnd: number;
}

const emptyHeader = (): Header => ({
  number: 0,
  cluster: 0,
  proc: 0,
  subproc: 0,
  // A figure that is no integer, so that engines keep the time in place.
  time: NaN,
  zone: 'unknown',
  timeAt: 0,
  timeEnd: 0,
});

/** Reads the headers of one log. Made once: a log has millions of them. */
export class HeaderReader {
  readonly #stamps: StampReader;
  readonly #id = { value: 0, end: 0 };

  constructor(stamps: StampReader) {
    this.#stamps = stamps;
  }

  /** Reads the header that begins at `at`, whose line ends at `end`; false if there is none. */
  read(bytes: Uint8Array, at: number, end: number, into: Header): boolean {
    if (!looksLikeHeader(bytes, at)) return false;
    const cluster = this.#integer(bytes, at + 5, 0x2e);
    const proc = this.#integer(bytes, this.#id.end, 0x2e);
    const subproc = this.#integer(bytes, this.#id.end, 0x29);
    let timeAt = this.#id.end;
    if (Number.isNaN(cluster + proc + subproc) || bytes[timeAt] !== 0x20) return false;
    while (bytes[timeAt] === 0x20) timeAt += 1;
    const timeEnd = this.#stamps.read(bytes, timeAt);
    if (timeEnd === -1 || timeEnd > end) return false;
    if (timeEnd < end && bytes[timeEnd] !== 0x20 && bytes[timeEnd] !== 0x0d) return false;
    into.number = digit(bytes, at) * 100 + digit(bytes, at + 1) * 10 + digit(bytes, at + 2);
    into.cluster = cluster;
    into.proc = proc;
    into.subproc = subproc;
    into.time = this.#stamps.time;
    into.zone = this.#stamps.zone;
    into.timeAt = timeAt;
    into.timeEnd = timeEnd;
    return true;
  }

  /** Reads an integer that ends with `mark`; sets `#id.end` to the byte after it. */
  #integer(bytes: Uint8Array, from: number, mark: number): number {
    let at = from;
    const negative = bytes[at] === 0x2d;
    if (negative) at += 1;
    const first = at;
    let value = 0;
    for (; isDigit(bytes[at]); at++) value = value * 10 + digit(bytes, at);
    this.#id.end = at + 1;
    if (at === first || at - first > 15 || bytes[at] !== mark) return NaN;
    return negative ? -value : value;
  }
}

/** Three digits, a space and a parenthesis. */
function looksLikeHeader(bytes: Uint8Array, at: number): boolean {
  return (
    bytes[at + 4] === 0x28 &&
    bytes[at + 3] === 0x20 &&
    isDigit(bytes[at]) &&
    isDigit(bytes[at + 1]) &&
    isDigit(bytes[at + 2])
  );
}

const digit = (bytes: Uint8Array, at: number): number => (bytes[at] ?? 0) - 0x30;
