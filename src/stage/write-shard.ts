import { open, type FileHandle } from 'node:fs/promises';
import { Fault } from '../fault/fault.ts';
import type { DataFile } from './data-files.ts';
import { ManifestMaker, type Seal } from './manifest-maker.ts';
import type { Shard } from './plan-shards.ts';
import { padding, tarEnd, tarHeader } from './tar-entry.ts';

interface Watch {
  signal: AbortSignal;
  onBytes: (bytes: number) => void;
}

const readBytes = 1 << 20;

/** Writes a shard as a tar into a file, and seals it. */
export async function writeShard({ files, bytes }: Shard, target: string, watch: Watch): Promise<Seal> {
  const maker = new ManifestMaker(bytes);
  await using output = await opened(target, 'w');
  const write = async (part: Buffer): Promise<void> => {
    maker.update(part);
    await output.writeFile(part).catch((error: unknown) => {
      throw onTarget(target, error);
    });
    watch.onBytes(part.length);
  };
  for (const file of files) {
    await write(tarHeader(file));
    await readAll(file, watch.signal, write);
    await write(padding(file.bytes));
  }
  await write(tarEnd);
  return maker.seal();
}

/** Seals a file as it is. */
export async function sealFile(file: DataFile, watch: Watch): Promise<Seal> {
  const maker = new ManifestMaker(file.bytes);
  await readAll(file, watch.signal, (part) => {
    maker.update(part);
    watch.onBytes(part.length);
    return Promise.resolve();
  });
  return maker.seal();
}

/** All bytes of a file, in one reused buffer; throws if they are not as many as they were. */
async function readAll(
  { file, bytes }: DataFile,
  signal: AbortSignal,
  take: (part: Buffer) => Promise<void>,
): Promise<void> {
  await using input = await opened(file, 'r');
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(readBytes, bytes + 1)));
  let at = 0;
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await input.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) break;
    at += bytesRead;
    if (at > bytes) break;
    await take(buffer.subarray(0, bytesRead));
  }
  if (at !== bytes)
    throw new Fault('file-invalid', `${file} changed while it was being packed`, {
      about: file,
      fix: 'run it again when nothing writes to the data set',
    });
}

async function opened(file: string, flags: 'r' | 'w'): Promise<FileHandle> {
  try {
    return await open(file, flags);
  } catch (error) {
    if (flags === 'w') throw onTarget(file, error);
    throw new Fault('file-invalid', `${file} cannot be read: ${(error as Error).message}`, {
      about: file,
      cause: error,
    });
  }
}

function onTarget(file: string, error: unknown): Fault {
  const isFull = ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
  return new Fault(isFull ? 'disk-full' : 'scratch-unusable', `${file}: ${(error as Error).message}`, {
    about: file,
    fix: 'set TMPDIR to a folder on a disk with room for one shard, or make shards smaller',
    cause: error,
  });
}
