import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { ClientRequest } from 'node:http';
import { crc32 } from 'node:zlib';
import { Fault } from '../fault/fault.ts';
import type { Digests } from './digest-header.ts';
import { openExchange, type ControlAnswer, type Wire } from './request.ts';

interface FileToSend {
  wire: Wire;
  file: string;
  size: number;
  url: string;
  headers: Record<string, string>;
  onProgress?: (sent: number, total: number) => void;
  signal?: AbortSignal;
}

export interface SentFile {
  answer: ControlAnswer;
  /** Of the bytes as they were sent. */
  digests: Digests;
}

/** How long an origin may take for the next piece, or for its answer once it has all. */
const stallMs = 100_000;

/** PUTs the first `size` bytes of a file, hashing on the way; stops as soon as the server has answered. */
export async function sendFile({
  wire,
  file,
  size,
  url,
  headers,
  onProgress,
  signal,
}: FileToSend): Promise<SentFile> {
  const withLength = { ...headers, 'Content-Length': String(size) };
  const exchange = openExchange(wire, { method: 'PUT', url, headers: withLength, headerMs: stallMs, signal });
  const answered = settled(exchange.answer);
  const md5 = createHash('md5');
  let [crc, sent] = [0, 0];
  try {
    for await (const chunk of chunksOf(file, size)) {
      if (answered.is) break;
      md5.update(chunk);
      crc = crc32(chunk, crc);
      if (!exchange.outgoing.write(chunk)) await Promise.race([drained(exchange.outgoing), answered.promise]);
      exchange.alive();
      sent += chunk.length;
      onProgress?.(sent, size);
    }
    if (sent < size && !answered.is)
      throw new Fault('file-invalid', `${file} became shorter while it was being sent`, { about: file });
    if (!answered.is) exchange.outgoing.end();
    const answer = await exchange.answer;
    return { answer, digests: { md5: md5.digest('hex'), crc32: crc.toString(16).padStart(8, '0') } };
  } finally {
    // A connection with half a body on it is of no further use.
    if (!exchange.outgoing.writableEnded) exchange.outgoing.destroy();
  }
}

/** What is appended to the file meanwhile is not part of what was promised. */
function chunksOf(file: string, size: number): AsyncIterable<Buffer> | Buffer[] {
  if (size === 0) return [];
  return createReadStream(file, { end: size - 1, highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>;
}

async function drained(outgoing: ClientRequest): Promise<void> {
  await new Promise<void>((resolve) => outgoing.once('drain', resolve));
}

/** Whether a promise is done, asked without waiting for it. */
function settled(promise: Promise<unknown>): { is: boolean; promise: Promise<void> } {
  const state = { is: false, promise: Promise.resolve() };
  const note = (): void => void (state.is = true);
  state.promise = promise.then(note, note);
  return state;
}
