import type { Zone } from './events.ts';
import { isDigit } from './log-text.ts';

export interface StampOptions {
  /** Minutes east of UTC for times that name no zone; without it, this machine's local time. */
  offsetMinutes?: number | undefined;
  /** About when the log ended (ms): dates without a year are placed before it. */
  reference: number;
  /** A moment (ms) at or soon after the first date without a year, where the log gives one in full. */
  within?: number | undefined;
}

const minute = 60_000;
const hourMs = 60 * minute;
/** Several processes write events: one may come this much before an earlier one. */
const maxDisorder = 5 * minute;
const day = 1440 * minute;
const halfYear = 183 * day;
const elevenMonths = 335 * day;

/** Reads the times of one log in order: a date without a year is placed by those before it. */
export class StampReader {
  /** The last time read: milliseconds since the epoch, or NaN for a date that does not exist. */
  time = NaN;
  zone: Zone = 'unknown';
  readonly #offsetMinutes: number | undefined;
  readonly #reference: number;
  readonly #within: number;
  #year = 0;
  #lastYearless = NaN;
  #hourKey = -1;
  #hourStart = 0;
  /** Whether local time has this hour twice, at the end of daylight saving time. */
  #isTwice = false;

  constructor(options: StampOptions) {
    this.#offsetMinutes = options.offsetMinutes;
    this.#reference = options.reference;
    this.#within = options.within ?? options.reference;
  }

  /** Where the time that begins at `at` ends, or -1 if there is none. */
  read(bytes: Uint8Array, at: number): number {
    if (bytes[at + 2] === 0x2f)
      return this.#readClock(bytes, at + 5, -1, twoDigits(bytes, at), twoDigits(bytes, at + 3));
    if (bytes[at + 4] !== 0x2d || bytes[at + 7] !== 0x2d) return -1;
    const year = twoDigits(bytes, at) * 100 + twoDigits(bytes, at + 2);
    return this.#readClock(bytes, at + 10, year, twoDigits(bytes, at + 5), twoDigits(bytes, at + 8));
  }

  #readClock(bytes: Uint8Array, at: number, year: number, month: number, date: number): number {
    const between = bytes[at];
    if ((between !== 0x20 && between !== 0x54) || bytes[at + 3] !== 0x3a || bytes[at + 6] !== 0x3a) return -1;
    const hour = twoDigits(bytes, at + 1);
    const minutes = twoDigits(bytes, at + 4);
    const seconds = twoDigits(bytes, at + 7);
    // Anything but a digit makes its number NaN, and so the sum.
    if (!Number.isFinite(year + month + date + hour + minutes + seconds)) return -1;
    let end = at + 9;
    let fraction = 0;
    if (bytes[end] === 0x2e || bytes[end] === 0x2c) {
      let weight = 100;
      for (end += 1; isDigit(bytes[end]); end++, weight /= 10)
        fraction += ((bytes[end] ?? 0) - 0x30) * weight;
    }
    const before = this.time;
    const offset = this.#readZone(bytes, end);
    if (this.zone === 'utc') end += 1;
    else if (this.zone === 'offset') end += bytes[end + 3] === 0x3a ? 6 : 5;
    const exists =
      month >= 1 && month <= 12 && date >= 1 && date <= 31 && hour < 24 && minutes < 60 && seconds < 61;
    if (!exists) this.time = NaN;
    else if (year === -1) this.time = this.#yearless(month, date, hour, offset) + minutes * minute;
    else this.time = this.#hour(year, month, date, hour, offset) + minutes * minute;
    this.time += seconds * 1000 + Math.floor(fraction);
    // The first of the two hours, unless the log is already past it.
    if (this.#isTwice && this.time < before - maxDisorder) this.time += hourMs;
    return end;
  }

  /** Sets `zone`; returns minutes east of UTC, or NaN for this machine's local time. */
  #readZone(bytes: Uint8Array, at: number): number {
    const sign = bytes[at];
    if (sign === 0x5a) {
      this.zone = 'utc';
      return 0;
    }
    if (sign === 0x2b || sign === 0x2d) {
      const minutes =
        twoDigits(bytes, at + 1) * 60 + twoDigits(bytes, bytes[at + 3] === 0x3a ? at + 4 : at + 3);
      if (Number.isFinite(minutes)) {
        this.zone = 'offset';
        return sign === 0x2b ? minutes : -minutes;
      }
    }
    this.zone = 'unknown';
    return this.#offsetMinutes ?? NaN;
  }

  /** The start of an hour, cached for the next time in it. */
  #hour(year: number, month: number, date: number, hour: number, offset: number): number {
    const key =
      (((year * 13 + month) * 32 + date) * 25 + hour) * 4096 + (Number.isNaN(offset) ? 4095 : offset + 1500);
    if (key === this.#hourKey) return this.#hourStart;
    const start = Number.isNaN(offset)
      ? new Date(year, month - 1, date, hour).getTime()
      : Date.UTC(year, month - 1, date, hour) - offset * minute;
    this.#hourKey = key;
    this.#isTwice = Number.isNaN(offset) && new Date(start + hourMs).getHours() === hour;
    this.#hourStart = daysOf(year, month) < date ? NaN : start;
    return this.#hourStart;
  }

  #yearless(month: number, date: number, hour: number, offset: number): number {
    if (this.#year === 0) this.#year = this.#firstYear(month, date, hour, offset);
    let time = this.#hour(this.#year, month, date, hour, offset);
    const change = time - this.#lastYearless;
    if (change < -halfYear) {
      // December to January; a log that only runs backwards would land in the future.
      const next = this.#hour(this.#year + 1, month, date, hour, offset);
      if (next < this.#reference + day) {
        this.#year += 1;
        time = next;
      }
    } else if (change > elevenMonths) {
      // A late event of the old year; the new year stays.
      return this.#hour(this.#year - 1, month, date, hour, offset);
    }
    if (!Number.isNaN(time)) this.#lastYearless = time;
    return time;
  }

  #firstYear(month: number, date: number, hour: number, offset: number): number {
    const last = new Date(this.#within).getUTCFullYear() + 1;
    for (let year = last; year > last - 9; year--) {
      if (this.#hour(year, month, date, hour, offset) < this.#within + day) return year;
    }
    return last - 1;
  }
}

function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] ?? 0) - 0x30;
  const ones = (bytes[at + 1] ?? 0) - 0x30;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN;
}

function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
