import { isUtf8 } from 'node:buffer';

/** Bytes of a log as text: UTF-8, or Latin-1 where they are not that, so that no byte is lost. */
export function decodeText(bytes: Buffer, start: number, end: number): string {
  const part = bytes.subarray(start, end);
  return isUtf8(part) ? part.toString('utf8') : part.toString('latin1');
}
