import { open } from 'node:fs/promises';
import type { LogPart } from './page-data.ts';

/** The last bytes of a file as text; an absent file is empty. A character that is cut in half is left out. */
export async function readEnd(path: string, mostBytes: number): Promise<LogPart> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return { text: '', size: 0, from: 0 };
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - mostBytes);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
    return logPart(buffer.subarray(0, bytesRead), size);
  } finally {
    await file.close();
  }
}

/** The end of a file of `size` bytes. */
export function logPart(bytes: Buffer, size: number): LogPart {
  let start = 0;
  const isCut = bytes.length < size;
  while (isCut && start < Math.min(4, bytes.length) && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return { text: bytes.toString('utf8', start), size, from: size - bytes.length + start };
}
