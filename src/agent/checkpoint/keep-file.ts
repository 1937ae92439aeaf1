import { createHash } from 'node:crypto';
import { link, open, type FileHandle } from 'node:fs/promises';
import { ignoreUnsyncable } from '../../base/sync-folder.ts';

const chunkBytes = 1 << 20;

/** Copies a file, in pieces so that it can be stopped, and tells the SHA-256 of the very bytes that are on the disk then. */
export async function copyKept(source: string, target: string, signal: AbortSignal): Promise<string> {
  await using input = await open(source, 'r');
  await using output = await open(target, 'wx', 0o600);
  const hash = createHash('sha256');
  for await (const chunk of pieces(input, signal)) {
    hash.update(chunk);
    await output.writeFile(chunk);
  }
  await output.sync().catch(ignoreUnsyncable);
  return hash.digest('hex');
}

/** A second name for a file nobody will write to any more; false where the file system cannot. */
export async function linkKept(source: string, target: string): Promise<boolean> {
  try {
    await link(source, target);
    return true;
  } catch {
    return false;
  }
}

/** The SHA-256 of a file, which is on the disk when it is told. */
export async function hashKept(file: string, signal: AbortSignal): Promise<string> {
  await using input = await open(file, 'r');
  const hash = createHash('sha256');
  for await (const chunk of pieces(input, signal)) hash.update(chunk);
  await input.sync().catch(ignoreUnsyncable);
  return hash.digest('hex');
}

async function* pieces(input: FileHandle, signal: AbortSignal): AsyncGenerator<Buffer> {
  const chunk = Buffer.allocUnsafe(chunkBytes);
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await input.read(chunk, 0, chunkBytes);
    if (bytesRead === 0) return;
    yield chunk.subarray(0, bytesRead);
  }
}
