import type { Zone } from './events.ts';
import { isDigit } from './log-text.ts';
import type { StampReader } from './stamp.ts';

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

export const emptyHeader = (): Header => ({
  ...{ number: 0, cluster: 0, proc: 0, subproc: 0 },
  // A figure that is no integer, so that engines keep the time in place.
  ...{ time: NaN, zone: 'unknown', timeAt: 0, timeEnd: 0 },
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
export function looksLikeHeader(bytes: Uint8Array, at: number): boolean {
  return (
    bytes[at + 4] === 0x28 &&
    bytes[at + 3] === 0x20 &&
    isDigit(bytes[at]) &&
    isDigit(bytes[at + 1]) &&
    isDigit(bytes[at + 2])
  );
}

const digit = (bytes: Uint8Array, at: number): number => (bytes[at] ?? 0) - 0x30;
