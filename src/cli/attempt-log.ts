import { open } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import { printableLines } from '../base/printable.ts';
import type { LivePage } from '../job/live-page.ts';
import type { Cli } from './cli.ts';

const chunkBytes = 1 << 16;

/** What the training of an attempt printed: every byte of it is shown once, wherever it comes from. */
export class AttemptLog {
  /** Where it lies once the attempt's folder is here. */
  readonly path: string;
  readonly #cli: Cli;
  readonly #decoder = new StringDecoder('utf8');
  #offset = 0;

  constructor(cli: Cli, path: string) {
    this.#cli = cli;
    this.path = path;
  }

  /** Shows what the file holds and nobody has seen; tells whether there is a file. */
  async showNew(): Promise<boolean> {
    const handle = await open(this.path, 'r').catch(() => undefined);
    if (handle === undefined) return false;
    try {
      for (;;) {
        const buffer = Buffer.allocUnsafe(chunkBytes);
        const { bytesRead } = await handle.read(buffer, 0, chunkBytes, this.#offset);
        if (bytesRead === 0) return true;
        this.#show(buffer.subarray(0, bytesRead));
      }
    } finally {
      await handle.close();
    }
  }

  /** The same from a page of the log; tells whether there was anything new in it. */
  showPage({ from, bytes }: LivePage): boolean {
    const end = from + bytes.length;
    if (end <= this.#offset) return false;
    if (from > this.#offset) {
      this.#cli.err(
        `--- ${from - this.#offset} bytes are left out here: all comes when the attempt ends ---\n`,
      );
      this.#offset = from;
    }
    this.#show(bytes.subarray(this.#offset - from));
    return true;
  }

  #show(bytes: Buffer): void {
    this.#offset += bytes.length;
    const text = this.#decoder.write(bytes);
    this.#cli.out(this.#cli.outIsTerminal ? printableLines(text) : text);
  }
}
