import type { LzWindow } from './lz-window.ts';
import { LzmaDecoder, parseLzmaProperties } from './lzma-decoder.ts';

/** What stands before a chunk's bytes. */
export interface Lzma2Head {
  control: number;
  /** Bytes that follow, and bytes they become. */
  packed: number;
  unpacked: number;
  properties?: number;
}

/** Decodes LZMA2 one whole chunk (at most 64 KiB packed, 2 MiB unpacked) at a time. */
export class Lzma2Decoder {
  readonly #window: LzWindow;
  readonly #lzma: LzmaDecoder;
  /** A stream has to say these before it may rely on them. */
  #hasDictionary = false;
  #hasProperties = false;
  #hasState = false;

  constructor(window: LzWindow) {
    this.#window = window;
    this.#lzma = new LzmaDecoder(this.#window);
  }

  /** Bytes of the head that follow a control byte. */
  static headSize(control: number): number {
    if (control < 0x80) return 2;
    return control < 0xc0 ? 4 : 5;
  }

  static parseHead(control: number, rest: Buffer): Lzma2Head {
    if (control < 0x80) {
      const size = rest.readUInt16BE() + 1;
      return { control, packed: size, unpacked: size };
    }
    const unpacked = ((control & 0x1f) << 16) + rest.readUInt16BE() + 1;
    const head = { control, packed: rest.readUInt16BE(2) + 1, unpacked };
    return control < 0xc0 ? head : { ...head, properties: rest[4] ?? 0 };
  }

  /** The chunk's bytes, valid until the next chunk; nothing if it is damaged. */
  decode(head: Lzma2Head, packed: Buffer): Buffer | undefined {
    const { control, unpacked } = head;
    if (control === 1 || control >= 0xe0) this.#resetDictionary();
    if (!this.#hasDictionary || (control > 2 && control < 0x80)) return undefined;
    this.#window.reserve(unpacked);
    const from = this.#window.at;
    if (control < 0x80) this.#copy(packed);
    else if (!this.#reset(head) || !this.#lzma.decode(packed, unpacked)) return undefined;
    return this.#window.bytes.subarray(from, this.#window.at);
  }

  #resetDictionary(): void {
    this.#window.reset();
    this.#lzma.resetPosition();
    this.#hasDictionary = true;
  }

  #copy(packed: Buffer): void {
    packed.copy(this.#window.bytes, this.#window.at);
    this.#window.at += packed.length;
    this.#lzma.skip(packed.length);
  }

  #reset({ control, properties }: Lzma2Head): boolean {
    if (properties !== undefined) {
      const parsed = parseLzmaProperties(properties);
      if (parsed === undefined) return false;
      this.#lzma.setProperties(parsed);
      this.#hasProperties = true;
    }
    if (control >= 0xa0) {
      this.#lzma.resetState();
      this.#hasState = true;
    }
    return this.#hasProperties && this.#hasState;
  }
}
