import { bytewiseHasher } from '../../transfer/proof/crc32c.ts';

/** A point of TensorBoard's curves. */
export interface ScalarEvent {
  /** Seconds since the epoch. */
  time: number;
  step: number;
  values: Readonly<Record<string, number>>;
}

/** An event file of TensorBoard: records with checksums, each a protocol buffer. Pure. */
export function eventFile(events: readonly ScalarEvent[]): Buffer {
  const [first] = events;
  const version = message([double(1, first?.time ?? 0), text(3, 'brain.Event:2')]);
  return Buffer.concat([version, ...events.map(scalarMessage)].map(record));
}

function scalarMessage({ time, step, values }: ScalarEvent): Buffer {
  const summary = Object.entries(values).map(([tag, value]) =>
    bytes(1, message([text(1, tag), float(2, value)])),
  );
  return message([double(1, time), varint(2, step), bytes(5, message(summary))]);
}

/** Length, its checksum, the data, and its checksum. */
function record(data: Buffer): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(data.length));
  return Buffer.concat([length, maskedCrc(length), data, maskedCrc(data)]);
}

/** CRC-32C, rotated and shifted, so that a checksum of data with checksums in it is no fixed point. */
function maskedCrc(data: Buffer): Buffer {
  const hasher = bytewiseHasher();
  hasher.update(data);
  const crc = Number.parseInt(hasher.hex(), 16);
  const masked = (((crc >>> 15) | (crc << 17)) + 0xa2_82_ea_d8) >>> 0;
  const out = Buffer.alloc(4);
  out.writeUInt32LE(masked);
  return out;
}

// The wire format of protocol buffers: the number of a field and how it is written, then its value.
const message = (fields: readonly Buffer[]): Buffer => Buffer.concat(fields);
const key = (field: number, wire: number): Buffer => Buffer.from([field * 8 + wire]);
const varint = (field: number, value: number): Buffer => Buffer.concat([key(field, 0), variable(value)]);
const text = (field: number, value: string): Buffer => bytes(field, Buffer.from(value));
const bytes = (field: number, value: Buffer): Buffer =>
  Buffer.concat([key(field, 2), variable(value.length), value]);

function double(field: number, value: number): Buffer {
  const out = Buffer.alloc(8);
  out.writeDoubleLE(value);
  return Buffer.concat([key(field, 1), out]);
}

function float(field: number, value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeFloatLE(value);
  return Buffer.concat([key(field, 5), out]);
}

/** Seven bits per byte, the lowest first. */
function variable(value: number): Buffer {
  const out: number[] = [];
  let rest = BigInt(Math.max(0, Math.round(value)));
  for (; rest > 127n; rest >>= 7n) out.push(Number(rest & 127n) | 128);
  return Buffer.from([...out, Number(rest)]);
}
