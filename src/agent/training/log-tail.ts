import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import path from 'node:path';
import type { WorkOrder } from '../../job/job.ts';
import { attemptFiles } from '../../job/layout.ts';

/** More than this between two polls is skipped: only the latest lines matter for progress. */
const maxReadBytes = 64 * 1024;

/** Returns the complete lines that a growing text file gained since the last poll; `\r` ends a line too. */
export class LogTail {
  readonly #file: string;
  #offset: number;
  #rest = '';

  /** `skipExisting`: skips what the file holds already. */
  constructor(file: string, skipExisting = false) {
    this.#file = file;
    this.#offset = skipExisting ? (statSync(file, { throwIfNoEntry: false })?.size ?? 0) : 0;
  }

  /** `grown` is a sign of life even if no line is complete yet. */
  read(): { lines: string[]; grown: boolean } {
    const text = this.#newText();
    if (text === '') return { lines: [], grown: false };
    const lines = (this.#rest + text).split(/[\r\n]+/);
    this.#rest = (lines.pop() ?? '').slice(-maxReadBytes);
    return { lines: lines.filter((line) => line !== ''), grown: true };
  }

  /** The last line, without its end, after the writer is gone. */
  rest(): string {
    return this.#rest;
  }

  #newText(): string {
    let file: number;
    try {
      file = openSync(this.#file, 'r');
    } catch {
      return ''; // not there yet, or removed by the training
    }
    try {
      const { size } = fstatSync(file);
      if (size < this.#offset) this.#offset = 0;
      const from = Math.max(this.#offset, size - maxReadBytes);
      if (from > this.#offset) this.#rest = '';
      const bytes = Buffer.allocUnsafe(size - from);
      const read = readSync(file, bytes, 0, bytes.length, from);
      this.#offset = from + read;
      return bytes.toString('utf8', 0, read);
    } finally {
      closeSync(file);
    }
  }
}

/** Enough for the end of a traceback. */
const maxErrorLines = 12;

/** The last lines that the training wrote to stderr: they usually say why it failed. */
export function lastErrorLines(order: WorkOrder): string[] {
  const tail = new LogTail(path.join(order.attemptFolder, attemptFiles.err));
  const lines = [...tail.read().lines, tail.rest()].map((line) => line.trim()).filter((line) => line !== '');
  return lines.slice(-maxErrorLines).map((line) => line.slice(0, 300));
}
