import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { crc32 } from 'node:zlib';
import { Fault } from '../fault/fault.ts';
import type { ConnectionPool } from '../http/connections.ts';
import { upload, type ControlAnswer } from '../http/request.ts';
import type { Digests } from './digest-header.ts';

interface FileToSend {
  wire: ConnectionPool;
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
const redirects = 3;

/** PUTs the first `size` bytes of a file, hashing on the way; stops as soon as the server has answered. */
export async function sendFile(request: FileToSend): Promise<SentFile> {
  const { wire, file, size, url, headers, onProgress, signal } = request;
  let digests: Digests = {};
  async function* body(): AsyncIterable<Buffer> {
    const md5 = createHash('md5');
    let [crc, sent] = [0, 0];
    // What is appended to the file meanwhile is not part of what was promised.
    const options = { end: size - 1, highWaterMark: 1 << 20 };
    const chunks = size === 0 ? [] : (createReadStream(file, options) as AsyncIterable<Buffer>);
    for await (const chunk of chunks) {
      md5.update(chunk);
      crc = crc32(chunk, crc);
      yield chunk;
      sent += chunk.length;
      onProgress?.(sent, size);
    }
    if (sent < size)
      throw new Fault('file-invalid', `${file} became shorter while it was being sent`, { about: file });
    digests = { md5: md5.digest('hex'), crc32: crc.toString(16).padStart(8, '0') };
  }
  const answer = await upload(wire, { url, headers, size, body, stallMs, redirects, signal });
  return { answer, digests };
}
