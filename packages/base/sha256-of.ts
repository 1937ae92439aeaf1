import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';

const chunkBytes = 1 << 20;

/** The bytes of an open file, in pieces, so that reading can be stopped; each piece is valid until the next. */
export async function* piecesOf(input: FileHandle, signal?: AbortSignal): AsyncGenerator<Buffer> {
  const chunk = Buffer.allocUnsafe(chunkBytes);
  for (;;) {
    signal?.throwIfAborted();
    const { bytesRead } = await input.read(chunk, 0, chunkBytes);
    if (bytesRead === 0) return;
    yield chunk.subarray(0, bytesRead);
  }
}

/** The SHA-256 of a file, read in pieces. */
export async function sha256Of(file: string, signal?: AbortSignal): Promise<string> {
  await using input = await open(file, 'r');
  const hash = createHash('sha256');
  for await (const piece of piecesOf(input, signal)) hash.update(piece);
  return hash.digest('hex');
}
