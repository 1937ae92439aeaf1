import { isDag } from '../dag/is-dag.ts';
import { latin1Text } from '../eventlog/log-text.ts';
import { isEventLog, type LogSource } from '../eventlog/scan-log.ts';
import { Fault } from '../fault/fault.ts';
import type { DroppedFile } from './messages.ts';

/** What the files are, by their content. */
export interface SortedFiles {
  logs: DroppedFile[];
  dags: DroppedFile[];
  submits: DroppedFile[];
  others: DroppedFile[];
}

/** Enough to recognize a log. */
const headBytes = 64 * 1024;

export async function sortFiles(files: readonly DroppedFile[]): Promise<SortedFiles> {
  const sorted: SortedFiles = { logs: [], dags: [], submits: [], others: [] };
  for (const file of files) sorted[await kindOf(file)].push(file);
  return sorted;
}

async function kindOf(file: DroppedFile): Promise<keyof SortedFiles> {
  const head = await headOf(file).catch(() => new Uint8Array());
  if (isEventLog(head)) return 'logs';
  const text = latin1Text(head, 0, head.length);
  if (text === '' || text.includes('\0')) return 'others';
  if (isDag(file.name, text)) return 'dags';
  return isSubmitFile(file.name, text) ? 'submits' : 'others';
}

async function headOf(file: DroppedFile): Promise<Uint8Array> {
  for await (const piece of uncompressed(file)) return piece.subarray(0, headBytes);
  return new Uint8Array();
}

const isSubmitFile = (name: string, text: string): boolean =>
  /\.(sub|submit|condor|jdl)$/i.test(name) ||
  (/^[ \t]*queue\b/im.test(text) && /^[ \t]*\w+[ \t]*=/m.test(text));

/** A log from a file; `onRead` is called with the bytes of the file that have been read. */
export const logFrom = (file: DroppedFile, onRead: (bytes: number) => void): LogSource => ({
  name: file.name,
  writtenAt: file.writtenAt,
  open: () => uncompressed(file, onRead),
});

const pieceBytes = 2 * 1024 * 1024;

async function* uncompressed(
  { name, blob }: DroppedFile,
  onRead: (bytes: number) => void = () => undefined,
): AsyncGenerator<Uint8Array, void, void> {
  const [first, second] = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  const pieces = piecesOf(blob, onRead);
  if (first !== 0x1f || second !== 0x8b) return yield* pieces;
  try {
    yield* chunks(streamOf(pieces).pipeThrough(new DecompressionStream('gzip')));
  } catch (cause) {
    throw new Fault('data-corrupt', `${name} cannot be unpacked: it is cut off or damaged`, {
      about: name,
      cause,
      fix: 'copy it again, or drop what `zcat` can still read of it',
    });
  }
}

async function* piecesOf(
  blob: Blob,
  onRead: (bytes: number) => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  for (let at = 0; at < blob.size; at += pieceBytes) {
    const piece = new Uint8Array(await blob.slice(at, at + pieceBytes).arrayBuffer());
    onRead(at + piece.length);
    yield piece;
  }
}

function streamOf(
  pieces: AsyncGenerator<Uint8Array<ArrayBuffer>, void, void>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(stream) {
      const piece = await pieces.next();
      if (piece.done === true) stream.close();
      else stream.enqueue(piece.value);
    },
  });
}

/** Not every browser can iterate over a stream. */
async function* chunks(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  const reader = stream.getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
  } finally {
    await reader.cancel();
  }
}
