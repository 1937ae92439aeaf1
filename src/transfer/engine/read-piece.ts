import { open, type FileHandle } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Fault } from '../../fault/fault.ts';
import { deliver, SinkFailure, type PieceContext } from './deliver.ts';
import type { Lane } from './lane.ts';
import { Setback } from './setback.ts';

const readBytes = 1 << 20;

/** Reads one piece of a `file:` object into the sink, in the same way as `runPiece` fetches one. */
export async function readPiece(context: PieceContext, lane: Lane): Promise<void> {
  const path = fileURLToPath(lane.source.server.url);
  try {
    await using file = await open(path, 'r');
    await acceptFile(context, lane, file, path);
    await copy(context, lane, file);
  } catch (error) {
    lane.controller.signal.throwIfAborted();
    throw error instanceof Setback || error instanceof SinkFailure
      ? error
      : fileSetback(path, error as Error);
  }
}

async function acceptFile(context: PieceContext, lane: Lane, file: FileHandle, path: string): Promise<void> {
  const stat = await file.stat();
  if (!stat.isFile()) throw new Fault('data-wrong', `${path} is not a file`);
  const { known, mustConfirm } = context;
  if (known.size !== undefined && known.size !== stat.size)
    throw new Setback(
      'changed',
      new Fault('object-changed', `${path} has ${stat.size} bytes, expected ${known.size}`),
    );
  const lastModified = stat.mtime.toISOString();
  if (mustConfirm && known.lastModified !== lastModified)
    throw new Setback('changed', new Fault('object-changed', `${path} was written at ${lastModified}`));
  const from = lane.piece.position;
  await context.accepted(
    { from, to: stat.size, size: stat.size, etag: undefined, lastModified, age: 0 },
    lane,
  );
}

async function copy(context: PieceContext, lane: Lane, file: FileHandle): Promise<void> {
  const { piece } = lane;
  const buffer = Buffer.allocUnsafeSlow(readBytes);
  while (piece.position < piece.end) {
    lane.controller.signal.throwIfAborted();
    const length = Math.min(readBytes, piece.end - piece.position);
    const { bytesRead } = await file.read(buffer, 0, length, piece.position);
    if (bytesRead === 0) throw new Fault('object-changed', `the file ended at byte ${piece.position}`);
    await deliver(context, lane, buffer.subarray(0, bytesRead));
  }
}

function fileSetback(path: string, error: Error): Setback {
  if (error instanceof Fault) return new Setback('broken', error);
  const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  const fault = new Fault(missing ? 'object-missing' : 'transfer-failed', `${path}: ${error.message}`, {
    cause: error,
  });
  return new Setback(missing ? 'missing' : 'broken', fault);
}
