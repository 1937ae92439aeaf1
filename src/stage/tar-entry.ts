import type { DataFile } from './data-files.ts';

const blockSize = 512;
/** The same files make the same archive wherever and whenever it is made: times and owners say nothing of the data. */
const fixedTime = 315_532_800;
const largestOctal = 0o77777777777;

/** What goes before a file's bytes in a tar: a ustar header, and before it a pax one where ustar cannot say it. */
export function tarHeader({
  name,
  bytes,
  isExecutable,
}: Pick<DataFile, 'name' | 'bytes' | 'isExecutable'>): Buffer {
  const mode = isExecutable ? 0o755 : 0o644;
  const plain = Buffer.from(name).length <= 100 && /^[\x20-\x7e]*$/.test(name) && bytes <= largestOctal;
  if (plain) return ustar({ name, bytes, mode, type: '0' });
  const records = Buffer.from(
    paxRecord('path', name) + (bytes > largestOctal ? paxRecord('size', String(bytes)) : ''),
  );
  return Buffer.concat([
    ustar({ name: 'PaxHeader', bytes: records.length, mode: 0o644, type: 'x' }),
    records,
    padding(records.length),
    ustar({ name: shortName(name), bytes: Math.min(bytes, largestOctal), mode, type: '0' }),
  ]);
}

/** Zeros up to the next block. */
export function padding(bytes: number): Buffer {
  return Buffer.alloc((blockSize - (bytes % blockSize)) % blockSize);
}

/** Two blocks of zeros end an archive. */
export const tarEnd = Buffer.alloc(2 * blockSize);

/** Bytes a file takes in a tar. */
export function entryBytes(file: DataFile): number {
  return tarHeader(file).length + file.bytes + padding(file.bytes).length;
}

function ustar({
  name,
  bytes,
  mode,
  type,
}: {
  name: string;
  bytes: number;
  mode: number;
  type: string;
}): Buffer {
  const header = Buffer.alloc(blockSize);
  const octal = (value: number, at: number, width: number): void =>
    void header.write(`${value.toString(8).padStart(width - 1, '0')}\0`, at, 'latin1');
  header.write(name, 0, 100, 'utf8');
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(bytes, 124, 12);
  octal(fixedTime, 136, 12);
  header.write(' '.repeat(8), 148, 'latin1');
  header.write(type, 156, 'latin1');
  header.write('ustar\x0000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

/** `LENGTH key=value\n`, where LENGTH counts itself too. */
function paxRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + String(rest).length;
  length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}

/** For readers that know no pax: the end of the name, cut between characters. */
function shortName(name: string): string {
  let short = Array.from(name);
  while (Buffer.byteLength(short.join('')) > 100) short = short.slice(1);
  return short.join('');
}
