import type { TrainingPoint } from '../../journal/training-curve.ts';
import { crc32cOf } from '../../transfer/proof/crc32c.ts';

/**
 * An event file of TensorBoard: records with checksums, each a protocol buffer. All is written into one buffer: a long
 * training has tens of thousands of points, and an object for each part of each would take most of the time.
 */
export class EventFile {
  #bytes = Buffer.allocUnsafe(1 << 16);
  #end = 0;
  /** Step and beginning of each point. */
  readonly #points: { step: number; at: number }[] = [];
  /** Tags as they are in the file. */
  readonly #tags = new Map<string, Buffer>();

  /** Milliseconds since the epoch. */
  constructor(startedAt: number) {
    const version = Buffer.from('brain.Event:2');
    this.#record(11 + version.length, () => {
      this.#double(1, startedAt / 1000);
      this.#text(3, version);
    });
  }

  add({ at, step, metrics }: TrainingPoint): void {
    let summary = 0;
    for (const name in metrics) {
      const value = valueBytes(this.#tagOf(name).length);
      summary += lengthAndKey(value) + value;
    }
    const whole = Math.min(Math.max(0, Math.round(step)), Number.MAX_SAFE_INTEGER);
    this.#points.push({ step, at: this.#end });
    this.#record(9 + 1 + varintBytes(whole) + lengthAndKey(summary) + summary, () => {
      this.#double(1, at / 1000);
      this.#key(2, 0);
      this.#varint(whole);
      this.#key(5, 2);
      this.#varint(summary);
      for (const name in metrics) this.#value(this.#tagOf(name), metrics[name] ?? NaN);
    });
  }

  /** Forgets points at this step or later that were added last. */
  cutFrom(step: number): void {
    while ((this.#points.at(-1)?.step ?? -1) >= step) this.#end = this.#points.pop()?.at ?? this.#end;
  }

  /** Valid until the next change. */
  get content(): Buffer {
    return this.#bytes.subarray(0, this.#end);
  }

  #tagOf(name: string): Buffer {
    const known = this.#tags.get(name);
    if (known !== undefined) return known;
    const tag = Buffer.from(name);
    this.#tags.set(name, tag);
    return tag;
  }

  #value(tag: Buffer, value: number): void {
    this.#key(1, 2);
    this.#varint(valueBytes(tag.length));
    this.#text(1, tag);
    this.#key(2, 5);
    this.#end = this.#bytes.writeFloatLE(value, this.#end);
  }

  /** Length, its checksum, the data, and its checksum. */
  #record(length: number, write: () => void): void {
    const from = this.#end;
    const needed = from + length + 16;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, from);
      this.#bytes = larger;
    }
    this.#bytes.writeUInt32LE(length, from);
    this.#bytes.writeUInt32LE(0, from + 4);
    this.#bytes.writeUInt32LE(maskedCrc(this.#bytes.subarray(from, from + 8)), from + 8);
    this.#end = from + 12;
    write();
    const crc = maskedCrc(this.#bytes.subarray(from + 12, this.#end));
    this.#end = this.#bytes.writeUInt32LE(crc, this.#end);
  }

  // The wire format of protocol buffers: the number of a field and how it is written, then its value.
  #key(field: number, wire: number): void {
    this.#bytes[this.#end++] = field * 8 + wire;
  }

  #text(field: number, value: Buffer): void {
    this.#key(field, 2);
    this.#varint(value.length);
    this.#bytes.set(value, this.#end);
    this.#end += value.length;
  }

  #double(field: number, value: number): void {
    this.#key(field, 1);
    this.#end = this.#bytes.writeDoubleLE(value, this.#end);
  }

  /** Seven bits per byte, the lowest first. */
  #varint(value: number): void {
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) this.#bytes[this.#end++] = (rest % 128) | 128;
    this.#bytes[this.#end++] = rest;
  }
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) bytes += 1;
  return bytes;
}

/** Before a field of this many bytes. */
const lengthAndKey = (bytes: number): number => 1 + varintBytes(bytes);

/** A tag and its value. */
const valueBytes = (tagBytes: number): number => lengthAndKey(tagBytes) + tagBytes + 5;

/** CRC-32C, rotated and shifted, so that a checksum of data with checksums in it is no fixed point. */
function maskedCrc(data: Uint8Array): number {
  const crc = crc32cOf(data);
  return (((crc >>> 15) | (crc << 17)) + 0xa2_82_ea_d8) >>> 0;
}
