import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

/** Size and SHA-256 of a file. */
export async function hashFile(
  file: string,
  signal: AbortSignal,
): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  await pipeline(
    createReadStream(file, { highWaterMark: 1 << 20 }),
    async function* (pieces: AsyncIterable<Buffer>) {
      for await (const piece of pieces) {
        bytes += piece.length;
        yield piece;
      }
    },
    hash,
    { signal },
  );
  return { sha256: hash.digest('hex'), bytes };
}
