import { crc32 } from 'node:zlib';

/** A stored zip entry that may be wrong or odd. */
export interface ZipParts {
  name: string | Buffer;
  data: string;
  method?: number;
  flags?: number;
  extra?: Buffer;
  /** Bytes of the descriptor after the data: 12 or 20 without a signature, 16 or 24 with one. */
  descriptor?: number;
  /** Index of the entry that the directory lists instead of this one. */
  listedAs?: number;
  listedMethod?: number;
}

/** A zip of stored entries; `directoryAt` is added to the stated position of the directory. */
export function makeZip(...parts: (ZipParts | { directoryAt: number })[]): Buffer {
  const entries = parts.filter((part) => 'name' in part);
  const shift = parts.find((part) => 'directoryAt' in part)?.directoryAt ?? 0;
  const locals: Buffer[] = [];
  const offsets: number[] = [];
  for (const entry of entries) {
    offsets.push(size(locals));
    locals.push(local(entry));
  }
  const listed = entries.map((entry) => entry.listedAs ?? entries.indexOf(entry));
  const directory = listed.map((place) => central(entries[place], offsets[place] ?? 0));
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(size(directory), 12);
  end.writeUInt32LE(size(locals) + shift, 16);
  return Buffer.concat([...locals, ...directory, end]);
}

const size = (parts: Buffer[]): number => parts.reduce((sum, part) => sum + part.length, 0);

/** The fields that both kinds of header have. */
function common(entry: ZipParts, isLocal: boolean): Buffer {
  const bytes = Buffer.alloc(26);
  const data = Buffer.from(entry.data);
  const isLater = isLocal && entry.descriptor !== undefined;
  bytes.writeUInt16LE(20, 0);
  bytes.writeUInt16LE((entry.flags ?? 0) | (entry.descriptor === undefined ? 0 : 8), 2);
  bytes.writeUInt16LE(isLocal ? (entry.method ?? 0) : (entry.listedMethod ?? entry.method ?? 0), 4);
  bytes.writeUInt16LE(0x21, 8);
  bytes.writeUInt32LE(isLater ? 0 : crc32(data), 10);
  bytes.writeUInt32LE(isLater ? 0 : data.length, 14);
  bytes.writeUInt32LE(isLater ? 0 : data.length, 18);
  bytes.writeUInt16LE(Buffer.from(entry.name).length, 22);
  bytes.writeUInt16LE(entry.extra?.length ?? 0, 24);
  return bytes;
}

function local(entry: ZipParts): Buffer {
  const data = Buffer.from(entry.data);
  return Buffer.concat([
    Buffer.from('PK\x03\x04'),
    common(entry, true),
    Buffer.from(entry.name),
    entry.extra ?? Buffer.alloc(0),
    data,
    descriptor(entry.descriptor ?? 0, data),
  ]);
}

function descriptor(bytes: number, data: Buffer): Buffer {
  if (bytes === 0) return Buffer.alloc(0);
  const signature = bytes % 8 === 0 ? Buffer.from('PK\x07\x08') : Buffer.alloc(0);
  const rest = Buffer.alloc(bytes - signature.length);
  rest.writeUInt32LE(crc32(data), 0);
  rest.writeUInt32LE(data.length, 4);
  rest.writeUInt32LE(data.length, rest.length > 12 ? 12 : 8);
  return Buffer.concat([signature, rest]);
}

function central(entry: ZipParts | undefined, offset: number): Buffer {
  if (entry === undefined) return Buffer.alloc(0);
  const rest = Buffer.alloc(14);
  rest.writeUInt32LE(offset, 10);
  return Buffer.concat([
    Buffer.from('PK\x01\x02'),
    Buffer.from([20, 0]),
    common(entry, false),
    rest,
    Buffer.from(entry.name),
    entry.extra ?? Buffer.alloc(0),
  ]);
}
