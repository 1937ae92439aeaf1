import { promisify } from 'node:util';
import { crc32, deflateRaw } from 'node:zlib';

export interface ZipFile {
  name: string;
  bytes: Buffer;
  mode: number;
}

/** A zip of these files, each with its mode; the same files always give the same bytes. */
export async function makeZip(files: readonly ZipFile[]): Promise<Buffer> {
  const [locals, directory]: [Buffer[], Buffer[]] = [[], []];
  for (const file of files) {
    const packed = await promisify(deflateRaw)(file.bytes);
    const header = Buffer.concat([sharedHeader(file, packed.length), Buffer.alloc(2)]);
    directory.push(listing(file, header, sizeOf(locals)));
    locals.push(Buffer.from('PK\x03\x04'), header, Buffer.from(file.name), packed);
  }
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(sizeOf(directory), 12);
  end.writeUInt32LE(sizeOf(locals), 16);
  return Buffer.concat([...locals, ...directory, end]);
}

const sizeOf = (parts: Buffer[]): number => parts.reduce((sum, part) => sum + part.length, 0);

/** The fields that a file's own header and its entry in the directory share. */
function sharedHeader({ name, bytes }: ZipFile, packedLength: number): Buffer {
  const header = Buffer.alloc(24);
  header.writeUInt16LE(20, 0); // version 2.0: deflate
  header.writeUInt16LE(8, 4); // deflated
  header.writeUInt16LE(0x21, 8); // 1980-01-01, the first date a zip can state
  header.writeUInt32LE(crc32(bytes), 10);
  header.writeUInt32LE(packedLength, 14);
  header.writeUInt32LE(bytes.length, 18);
  header.writeUInt16LE(Buffer.byteLength(name), 22);
  return header;
}

function listing({ name, mode }: ZipFile, header: Buffer, offset: number): Buffer {
  const rest = Buffer.alloc(12);
  rest.writeUInt32LE(((0o100000 | mode) << 16) >>> 0, 4);
  rest.writeUInt32LE(offset, 8);
  const madeOnUnix = Buffer.from([20, 3]);
  return Buffer.concat([
    Buffer.from('PK\x01\x02'),
    madeOnUnix,
    header,
    Buffer.alloc(2),
    rest,
    Buffer.from(name),
  ]);
}
