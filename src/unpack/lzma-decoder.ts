import type { LzWindow } from './lz-window.ts';
import { RangeDecoder } from './range-decoder.ts';

/** Where each group of probabilities begins in the one array that holds them all. */
const isMatch = 0;
const isRep = isMatch + 12 * 16;
const isRepG0 = isRep + 12;
const isRepG1 = isRepG0 + 12;
const isRepG2 = isRepG1 + 12;
const isRep0Long = isRepG2 + 12;
const slots = isRep0Long + 12 * 16;
const specials = slots + 4 * 64;
const align = specials + 128;
const matchLength = align + 16;
const repLength = matchLength + 2 + 16 * 8 * 2 + 256;
const literals = repLength + 2 + 16 * 8 * 2 + 256;

/** The encoder's choices that a stream states in one byte. */
export interface LzmaProperties {
  literalContext: number;
  literalPosition: number;
  position: number;
}

/** Reads the properties byte as LZMA2 allows it. */
export function parseLzmaProperties(byte: number): LzmaProperties | undefined {
  if (byte >= 9 * 5 * 5) return undefined;
  const properties = {
    literalContext: byte % 9,
    literalPosition: Math.floor(byte / 9) % 5,
    position: Math.floor(byte / 45),
  };
  return properties.literalContext + properties.literalPosition > 4 ? undefined : properties;
}

/** Decodes LZMA into a window, chunk by chunk; state lives on between chunks until it is reset. */
export class LzmaDecoder {
  readonly #window: LzWindow;
  readonly #range = new RangeDecoder(literals + (0x300 << 4));
  #literalContext = 0;
  #literalMask = 0;
  #positionMask = 0;
  #state = 0;
  #rep0 = 0;
  #rep1 = 0;
  #rep2 = 0;
  #rep3 = 0;
  /** Bytes since the dictionary was reset, which contexts depend on. */
  #position = 0;

  constructor(window: LzWindow) {
    this.#window = window;
  }

  resetPosition(): void {
    this.#position = 0;
  }

  setProperties(properties: LzmaProperties): void {
    this.#literalContext = properties.literalContext;
    this.#literalMask = (1 << properties.literalPosition) - 1;
    this.#positionMask = (1 << properties.position) - 1;
  }

  resetState(): void {
    this.#state = 0;
    this.#rep0 = this.#rep1 = this.#rep2 = this.#rep3 = 0;
    this.#range.resetProbabilities();
  }

  /** Bytes that came uncompressed count as position too. */
  skip(count: number): void {
    this.#position += count;
  }

  /** Decodes exactly `count` bytes from exactly these; false if they are not LZMA. */
  decode(input: Buffer, count: number): boolean {
    if (!this.#range.start(input)) return false;
    const window = this.#window;
    const end = window.at + count;
    while (window.at < end) {
      const before = window.at;
      const positionState = this.#position & this.#positionMask;
      if (this.#range.bit(isMatch + (this.#state << 4) + positionState) === 0) this.#literal();
      else if (!this.#copy(this.#match(positionState), end)) return false;
      this.#position += window.at - before;
    }
    return this.#range.finished();
  }

  #literal(): void {
    const { bytes, at } = this.#window;
    const range = this.#range;
    const before = at === 0 ? 0 : (bytes[at - 1] as number);
    const context =
      ((this.#position & this.#literalMask) << this.#literalContext) + (before >> (8 - this.#literalContext));
    const base = literals + 0x300 * context;
    bytes[at] =
      this.#state < 7 ? range.tree(base, 8) : range.matchedByte(base, bytes[at - this.#rep0 - 1] as number);
    this.#window.at = at + 1;
    this.#state = this.#state < 4 ? 0 : this.#state < 10 ? this.#state - 3 : this.#state - 6;
  }

  /** Reads a match, sets `#rep0` to its distance less one, and gives its length. */
  #match(positionState: number): number {
    const range = this.#range;
    const state = this.#state;
    if (range.bit(isRep + state) === 0) {
      this.#rep3 = this.#rep2;
      this.#rep2 = this.#rep1;
      this.#rep1 = this.#rep0;
      const length = this.#length(matchLength, positionState);
      this.#rep0 = this.#distance(length);
      this.#state = state < 7 ? 7 : 10;
      return length + 2;
    }
    if (range.bit(isRepG0 + state) === 0) {
      if (range.bit(isRep0Long + (state << 4) + positionState) === 0) {
        this.#state = state < 7 ? 9 : 11;
        return 1;
      }
    } else this.#rotate(state);
    this.#state = state < 7 ? 8 : 11;
    return this.#length(repLength, positionState) + 2;
  }

  /** One of the older distances becomes the newest. */
  #rotate(state: number): void {
    let distance = this.#rep1;
    if (this.#range.bit(isRepG1 + state) !== 0) {
      distance = this.#rep2;
      if (this.#range.bit(isRepG2 + state) !== 0) {
        distance = this.#rep3;
        this.#rep3 = this.#rep2;
      }
      this.#rep2 = this.#rep1;
    }
    this.#rep1 = this.#rep0;
    this.#rep0 = distance;
  }

  #length(base: number, positionState: number): number {
    const range = this.#range;
    if (range.bit(base) === 0) return range.tree(base + 2 + (positionState << 3), 3);
    if (range.bit(base + 1) === 0) return 8 + range.tree(base + 2 + 128 + (positionState << 3), 3);
    return 16 + range.tree(base + 2 + 256, 8);
  }

  #distance(length: number): number {
    const range = this.#range;
    const slot = range.tree(slots + (Math.min(length, 3) << 6), 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const high = (2 | (slot & 1)) << bits;
    if (slot < 14) return high + range.reverseTree(specials + high - slot, bits);
    const middle = range.direct(bits - 4) << 4;
    return (high + middle + range.reverseTree(align, 4)) >>> 0;
  }

  #copy(length: number, end: number): boolean {
    const window = this.#window;
    const { bytes, at } = window;
    const distance = this.#rep0 + 1;
    if (distance > window.reach || at + length > end) return false;
    if (distance >= length && length > 32) bytes.copyWithin(at, at - distance, at - distance + length);
    else for (let i = at; i < at + length; i++) bytes[i] = bytes[i - distance] as number;
    window.at = at + length;
    return true;
  }
}
