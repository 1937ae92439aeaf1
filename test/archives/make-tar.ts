/** A tar entry in which any field may be wrong. */
export interface TarParts {
  name?: string | Buffer;
  type?: string;
  data?: string | Buffer;
  /** The stated size, if not the data's. */
  size?: number | Buffer;
  mode?: number;
  mtime?: number | Buffer;
  link?: string;
  prefix?: string;
  /** `ustar\0` and the version by default; '' makes the oldest format. */
  magic?: string;
  checksum?: number | 'signed';
  /** Overwrites bytes of the header, by offset. */
  at?: Record<number, string>;
}

const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`;

export function tarEntry(parts: TarParts): Buffer {
  const data = Buffer.from(parts.data ?? '');
  const header = Buffer.alloc(512);
  const put = (at: number, value: string | Buffer): void => void Buffer.from(value).copy(header, at);
  put(0, Buffer.from(parts.name ?? 'file').subarray(0, 100));
  put(100, octal(parts.mode ?? 0o644, 8));
  put(108, octal(0, 8));
  put(116, octal(0, 8));
  const size = parts.size ?? data.length;
  put(124, typeof size === 'number' ? octal(size, 12) : size);
  const mtime = parts.mtime ?? 1_700_000_000;
  put(136, typeof mtime === 'number' ? octal(mtime, 12) : mtime);
  put(156, parts.type ?? '0');
  put(157, Buffer.from(parts.link ?? '').subarray(0, 100));
  put(257, parts.magic ?? 'ustar\x0000');
  put(345, parts.prefix ?? '');
  for (const [place, value] of Object.entries(parts.at ?? {})) put(Number(place), value);
  put(148, ' '.repeat(8));
  const sum = header.reduce(
    (total, byte) => total + (parts.checksum === 'signed' && byte > 127 ? byte - 256 : byte),
    0,
  );
  put(148, `${(typeof parts.checksum === 'number' ? parts.checksum : sum).toString(8).padStart(6, '0')}\0 `);
  return Buffer.concat([header, data, Buffer.alloc((512 - (data.length % 512)) % 512)]);
}

export const endBlocks = Buffer.alloc(1024);

export function tar(...entries: (TarParts | Buffer)[]): Buffer {
  return Buffer.concat([
    ...entries.map((entry) => (Buffer.isBuffer(entry) ? entry : tarEntry(entry))),
    endBlocks,
  ]);
}

/** Pax records, whose lengths include themselves. */
export function pax(records: Record<string, string | Buffer> | [string, string | Buffer][]): Buffer {
  return Buffer.concat(
    (Array.isArray(records) ? records : Object.entries(records)).map(([key, value]) => {
      const record = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from('\n')]);
      let length = record.length + String(record.length).length;
      if (String(length).length + record.length !== length) length++;
      return Buffer.concat([Buffer.from(String(length)), record]);
    }),
  );
}

/** A number in GNU's base 256. */
export function base256(value: bigint, length = 12): Buffer {
  const bytes = Buffer.alloc(length);
  let rest = BigInt.asUintN(length * 8, value);
  for (let i = length - 1; i >= 0; i--, rest >>= 8n) bytes[i] = Number(rest & 255n);
  bytes[0] = (bytes[0] ?? 0) | 0x80;
  return bytes;
}
