import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import path from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { tried } from '@updraft/base';
import { ofFailingRank, tracebackFrom } from '@updraft/base/training';
import type { WorkOrder } from '../../job/job.ts';
import { attemptFiles } from '@updraft/account/run-folder';

/** What is read at once: to understand it takes a tenth of a second, which must not delay the agent's other work. */
export const maxRead = 1 << 20;
/** Who is behind by more than this skips what is older. */
const maxBehind = 4 << 20;
/** Of a file whose end alone matters. */
export const endBytes = 64 * 1024;

/** Returns the complete lines that a growing text file gained, part by part; `\r` ends a line too. */
export class LogTail {
  readonly #file: string;
  readonly #skipAfter: number;
  /** A character may end in the next part. */
  readonly #decoder = new StringDecoder();
  #offset: number;
  #rest = '';
  /** Something was skipped, so the next line may lack its beginning. */
  #isTorn = false;
  /** Whether the file had more than was read last. */
  isBehind = false;

  /** `skipExisting`: skips what the file holds already. */
  constructor(file: string, skipExisting = false, skipAfter = maxBehind) {
    this.#file = file;
    this.#skipAfter = skipAfter;
    this.#offset = skipExisting ? (statSync(file, { throwIfNoEntry: false })?.size ?? 0) : 0;
  }

  /** `grown` is a sign of life even if no line is complete yet. */
  read(): { lines: string[]; grown: boolean } {
    const text = this.#newText();
    if (text === '') return { lines: [], grown: false };
    const lines = (this.#rest + text).split(/[\r\n]+/);
    this.#rest = (lines.pop() ?? '').slice(-endBytes);
    if (this.#isTorn && lines.length > 0) {
      lines.shift();
      this.#isTorn = false;
    }
    return { lines: lines.filter((line) => line !== ''), grown: true };
  }

  /** The last line, without its end, after the writer is gone. */
  rest(): string {
    return this.#rest;
  }

  #newText(): string {
    const file = tried(() => openSync(this.#file, 'r'));
    if (file === undefined) return ''; // not there yet, or removed by the training
    try {
      const { size } = fstatSync(file);
      if (size < this.#offset) this.#offset = 0;
      const from = Math.max(this.#offset, size - this.#skipAfter);
      if (from > this.#offset) [this.#rest, this.#isTorn] = ['', true];
      const bytes = Buffer.allocUnsafe(Math.min(maxRead, size - from));
      const read = readSync(file, bytes, 0, bytes.length, from);
      this.#offset = from + read;
      this.isBehind = read > 0 && this.#offset < size;
      return this.#decoder.write(bytes.subarray(0, read));
    } finally {
      closeSync(file);
    }
  }
}

/** Enough where there is no traceback. */
const maxErrorLines = 12;

/** The last lines that the training, or its `rank`, wrote to stderr, which usually say why it failed, or to stdout. */
export function lastErrorLines(order: WorkOrder, stream: 'err' | 'out' = 'err', rank?: number): string[] {
  const tail = new LogTail(path.join(order.attemptFolder, attemptFiles[stream]), false, endBytes);
  const printed = ofFailingRank([...tail.read().lines, tail.rest()], rank);
  const lines = printed.map((line) => line.trim()).filter((line) => line !== '');
  // Of chained exceptions, the first one says why.
  const from = tracebackFrom(lines, maxErrorLines);
  return lines.slice(from === -1 ? -maxErrorLines : from).map((line) => line.slice(0, 300));
}
