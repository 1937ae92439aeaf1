import { isSubmitFile } from '@updraft/htcondor/submit';
import { defined, shellQuote } from '@updraft/base';
import { isDag } from '@updraft/htcondor/dag';
import { headBytes, isEventLog, latin1Text, type LogSource, refuseUtf16 } from '@updraft/htcondor/eventlog';
import { asFault, Fault } from '@updraft/account/fault';
import { isJobAds } from '@updraft/account/history';
import { hasReasons } from '@updraft/account/why';
import type { DroppedFile } from './messages.ts';

/** What the files are, by content and name. */
export interface SortedFiles {
  logs: DroppedFile[];
  /** What `condor_q -l`, `condor_q -hold` or `condor_history -l` has printed, or hold reasons. */
  ads: DroppedFile[];
  dags: DroppedFile[];
  submits: DroppedFile[];
  /** Must be unpacked first. */
  packed: DroppedFile[];
  others: DroppedFile[];
}

export async function sortFiles(files: readonly DroppedFile[]): Promise<SortedFiles> {
  const sorted: SortedFiles = { logs: [], ads: [], dags: [], submits: [], packed: [], others: [] };
  for (const file of files) {
    const head = await headOf(file).catch(asFault);
    if (!(head instanceof Fault)) sorted[kindOf(file.name, head)].push(file);
    else sorted[head.kind === 'file-invalid' ? 'packed' : 'others'].push(file);
  }
  return sorted;
}

function kindOf(name: string, head: Uint8Array): keyof SortedFiles {
  if (isEventLog(head)) return 'logs';
  if (/\.zip$/i.test(name)) return 'packed';
  const text = latin1Text(head, 0, head.length);
  if (text === '' || text.includes('\0')) return 'others';
  if (isJobAds(text)) return 'ads';
  // A rescue file is read with its DAG.
  if (/\.rescue\d{3}$/.test(name)) return 'others';
  const plain = name.replace(/\.gz$/i, '');
  const kind = isDag(plain, text) ? 'dags' : isSubmitFile(plain, text) ? 'submits' : undefined;
  // HTCondor reads neither compressed.
  if (kind !== undefined) return plain === name ? kind : 'packed';
  return hasReasons(text) ? 'ads' : 'others';
}

async function headOf(file: DroppedFile): Promise<Uint8Array> {
  const blob = file.blob.slice(0, headBytes);
  for await (const piece of uncompressed({ ...file, blob })) return piece.subarray(0, headBytes);
  return new Uint8Array();
}

/** A log from a file; `onRead` is called with the bytes of the file that have been read. */
export const logFrom = (file: DroppedFile, onRead: (bytes: number) => void, partOf?: string): LogSource => ({
  name: file.name,
  writtenAt: file.writtenAt,
  ...defined({ partOf }),
  open: () => uncompressed(file, onRead),
});

const pieceBytes = 2 * 1024 * 1024;

const uncompressed = (
  file: DroppedFile,
  onRead?: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void, void> => refuseUtf16(file.name, decompressed(file, onRead));

/** What browsers cannot decompress, by its first bytes. Each is also the name of a command. */
const packed: readonly (readonly [beginning: RegExp, name: string])[] = [
  [/^\u00fd7zXZ/, 'xz'],
  [/^BZh/, 'bzip2'],
  [/^\u0028\u00b5\u002f\u00fd/, 'zstd'],
];

async function* decompressed(
  { name, blob }: DroppedFile,
  onRead: (bytes: number) => void = () => undefined,
): AsyncGenerator<Uint8Array, void, void> {
  const head = await bytesOf(name, blob.slice(0, 6));
  const pieces = piecesOf(name, blob, onRead);
  const [, other] = packed.find(([beginning]) => beginning.test(latin1Text(head, 0, head.length))) ?? [];
  const file = shellQuote(name);
  if (other !== undefined)
    throw new Fault('file-invalid', `${name} is compressed with ${other}, and the page reads only .gz`, {
      about: name,
      fix: `unpack it first: \`${other} -dk ${file}\``,
    });
  if (head[0] !== 0x1f || head[1] !== 0x8b) return yield* pieces;
  try {
    yield* unpacked(pieces);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('file-invalid', `${name} is cut, damaged or of several parts`, {
      about: name,
      cause,
      fix: `unpack what can be read of it, and drop that: \`gunzip -c ${file} > ${file}.log\``,
    });
  }
}

/** Not every browser iterates over a stream, or makes one of a generator. */
async function* unpacked(
  pieces: AsyncGenerator<Uint8Array<ArrayBuffer>, void, void>,
): AsyncGenerator<Uint8Array, void, void> {
  const packed = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
  const reader = packed.pipeThrough(new DecompressionStream('gzip')).getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Browsers refuse a file that has changed since it was chosen: the log of jobs that run. */
const bytesOf = async (name: string, blob: Blob): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(
    await blob.arrayBuffer().catch((cause: unknown) => {
      throw new Fault('data-corrupt', `${name} cannot be read, or changed while it was read`, {
        about: name,
        cause,
        fix: 'drop it again; if its jobs are running, drop a copy of it',
      });
    }),
  );

async function* piecesOf(
  name: string,
  blob: Blob,
  onRead: (bytes: number) => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  for (let at = 0; at < blob.size; at += pieceBytes) {
    const piece = await bytesOf(name, blob.slice(at, at + pieceBytes));
    onRead(at + piece.length);
    yield piece;
  }
}
