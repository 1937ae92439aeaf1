import { Fault } from '../fault/fault.ts';
import type { ArchiveKind } from '../base/archive-kinds.ts';
import { headBytes, seeArchive, type Seen } from './archive-kind.ts';
import type { ByteSink, Waiting } from './byte-sink.ts';

/** What is no archive is mostly an error page: its size is told if it is no bigger than this. */
const mostCounted = 1 << 20;

/**
 * Looks at the first bytes before anything is unpacked, and lets them through to a reader only if they are
 * the archive that was promised.
 */
export class KindGate implements ByteSink {
  readonly #name: string;
  readonly #promised: ArchiveKind | undefined;
  readonly #open: (kind: ArchiveKind) => ByteSink;
  #head = Buffer.alloc(0);
  #bytes = 0;
  #seen: Seen | undefined;
  #reader: ByteSink | undefined;

  /** Without a promised kind any archive will do. */
  constructor(name: string, promised: ArchiveKind | undefined, open: (kind: ArchiveKind) => ByteSink) {
    this.#name = name;
    this.#promised = promised;
    this.#open = open;
  }

  write(piece: Buffer): Waiting {
    this.#bytes += piece.length;
    if (this.#reader !== undefined) return this.#reader.write(piece);
    if (this.#seen !== undefined) {
      this.#countWrong();
      return;
    }
    const all = this.#head.length === 0 ? piece : Buffer.concat([this.#head, piece]);
    if (all.length >= headBytes) return this.#decide(all);
    this.#head = Buffer.from(all);
  }

  async end(): Promise<void> {
    if (this.#bytes === 0)
      throw new Fault('archive-damaged', `${this.#name}: is empty`, { about: this.#name });
    if (this.#seen === undefined) await this.#decide(this.#head);
    if (this.#reader === undefined) throw this.#wrong(this.#bytes.toLocaleString('en-US'));
    await this.#reader.end();
  }

  destroy(): void {
    this.#reader?.destroy();
  }

  #decide(bytes: Buffer): Waiting {
    const seen = (this.#seen = seeArchive(bytes.subarray(0, headBytes)));
    if (!('kind' in seen)) {
      this.#countWrong();
      return;
    }
    if (this.#promised !== undefined && seen.kind !== this.#promised)
      throw new Fault(
        'archive-kind',
        `${this.#name}: is a ${seen.kind} archive where ${this.#promised} is asked for`,
        { about: this.#name, fix: `Write unpack = "${seen.kind}", or "auto".` },
      );
    this.#reader = this.#open(seen.kind);
    return this.#reader.write(bytes);
  }

  #countWrong(): void {
    if (this.#bytes > mostCounted) throw this.#wrong(`more than ${mostCounted.toLocaleString('en-US')}`);
  }

  #wrong(bytes: string): Fault {
    const { other, text } = this.#seen as Extract<Seen, { other: string }>;
    return new Fault(
      text ? 'data-wrong' : 'archive-kind',
      `${this.#name}: is ${other}, ${bytes} bytes, and no archive`,
      {
        about: this.#name,
      },
    );
  }
}
