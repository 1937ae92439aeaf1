import { closeSync, constants, fstatSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { Fault } from '../../fault/fault.ts';

/**
 * HTCondor fills this file with spaces before it calls a plugin, so that there is room for the results when the disk
 * is full. It is therefore written in place and never made shorter; what was there beyond the results becomes blank.
 */
export class OutFile {
  readonly #path: string;
  readonly #file: number;

  /** Opened at once: a plugin that cannot report should not begin. */
  constructor(path: string) {
    this.#path = path;
    try {
      this.#file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    } catch (error) {
      throw unwritable(path, error);
    }
  }

  /** Bytes that are there already, full disk or not. */
  get room(): number {
    return fstatSync(this.#file).size;
  }

  /** Replaces all that the file held. */
  write(text: string): void {
    const bytes = Buffer.from(text);
    const blank = Buffer.alloc(Math.max(0, this.room - bytes.length), ' ');
    try {
      const all = Buffer.concat([bytes, blank]);
      for (let at = 0; at < all.length;) at += writeSync(this.#file, all, at, all.length - at, at);
      fsyncSync(this.#file);
    } catch (error) {
      throw unwritable(this.#path, error);
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}

function unwritable(path: string, error: unknown): Fault {
  return new Fault('scratch-unusable', `${path} cannot be written: ${(error as Error).message}`, {
    about: path,
    cause: error,
  });
}
