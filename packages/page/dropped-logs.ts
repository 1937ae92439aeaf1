import { isSubmitFile } from '@updraft/htcondor/submit';
import { defined, shellQuote } from '@updraft/base';
import { isDag } from '@updraft/htcondor/dag';
import { asUtf8, headBytes, isEventLog, latin1Text, type LogSource } from '@updraft/htcondor/eventlog';
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
  const damaged: DroppedFile[] = [];
  for (const file of files) {
    const head = await headOf(file).catch(asFault);
    if (!(head instanceof Fault)) sorted[kindOf(file.name, head)].push(file);
    else if (head.kind === 'data-corrupt') damaged.push({ ...file, damage: 'nothing can be unpacked' });
    else sorted.packed.push(file);
  }
  // Beside logs it is noted as one of them.
  sorted[sorted.logs.length > 0 ? 'logs' : 'others'].push(...damaged);
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
export function logFrom(file: DroppedFile, onRead: (bytes: number) => void, partOf?: string): LogSource {
  const source: LogSource = {
    name: file.name,
    writtenAt: file.writtenAt,
    ...defined({ damage: file.damage }),
    ...(partOf === undefined ? {} : { partOf }),
    open: () => uncompressed(file, onRead, source),
  };
  return source;
}

const pieceBytes = 2 * 1024 * 1024;

const uncompressed = (
  file: DroppedFile,
  onRead?: (bytes: number) => void,
  source?: LogSource,
): AsyncGenerator<Uint8Array, void, void> => asUtf8(decompressed(file, onRead, source));

/** What browsers cannot decompress, by its first bytes. Each is also the name of a command. */
const packed: readonly (readonly [beginning: RegExp, name: string])[] = [
  [/^\u00fd7zXZ/, 'xz'],
  [/^BZh/, 'bzip2'],
  [/^\u0028\u00b5\u002f\u00fd/, 'zstd'],
];

/** Of a cut or damaged file, as much as can be decompressed; nothing at all is a fault. */
async function* decompressed(
  { name, blob }: DroppedFile,
  onRead: (bytes: number) => void = () => undefined,
  source?: LogSource,
): AsyncGenerator<Uint8Array, void, void> {
  const head = await bytesOf(name, blob.slice(0, 6));
  const pieces = piecesOf(name, blob, onRead);
  const [, other] = packed.find(([beginning]) => beginning.test(latin1Text(head, 0, head.length))) ?? [];
  if (other !== undefined)
    throw new Fault('file-invalid', `${name} is compressed with ${other}, and the page reads only .gz`, {
      about: name,
      fix:
        `unpack it first: \`${other} -dk ${shellQuote(name)}\`; or use the command, which reads it: ` +
        `updraft report ${shellQuote(name)}`,
    });
  if (head[0] !== 0x1f || head[1] !== 0x8b) return yield* pieces;
  let isSome = false;
  try {
    const parts = membersOf(pieces);
    const left = { isMore: true };
    while (left.isMore)
      for await (const piece of unpacked(parts, left)) {
        isSome = true;
        yield piece;
      }
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    if (source !== undefined && (isSome || source.damage !== undefined)) {
      source.damage ??= cause instanceof Error ? cause.message : 'it ends early';
      return;
    }
    throw new Fault('data-corrupt', `${name} cannot be unpacked: it is cut off or damaged`, {
      about: name,
      cause,
      fix: 'copy it again, or drop what `zcat` can still read of it',
    });
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

/** The start of a gzip member, whose time may be anything; 1 in 10^11 places of compressed data looks like it. */
const headerBytes = 10;
const isHeader = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === 0x1f &&
  bytes[at + 1] === 0x8b &&
  bytes[at + 2] === 8 &&
  (bytes[at + 3] ?? 255) < 32 &&
  [0, 2, 4].includes(bytes[at + 8] ?? 255) &&
  ((bytes[at + 9] ?? 0) <= 13 || bytes[at + 9] === 255);

/** The pieces of a compressed file, with `null` between members: a browser unpacks one, `cat` and bgzip join many. */
async function* membersOf(
  pieces: AsyncIterable<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Uint8Array<ArrayBuffer> | null, void, void> {
  let rest = new Uint8Array();
  let passed = 0;
  for await (const piece of pieces) {
    const bytes = new Uint8Array(rest.length + piece.length);
    bytes.set(rest);
    bytes.set(piece, rest.length);
    let from = 0;
    const last = bytes.length - headerBytes;
    for (let at = bytes.indexOf(0x1f); at >= 0 && at <= last; at = bytes.indexOf(0x1f, at + 1)) {
      if (!isHeader(bytes, at)) continue;
      if (at > from) yield bytes.subarray(from, at);
      if (passed + at > 0) yield null;
      from = at;
    }
    const kept = Math.max(from, last + 1);
    yield bytes.subarray(from, kept);
    rest = bytes.slice(kept);
    passed += kept;
  }
  yield rest;
}

/** The pieces of one member; says then whether there is another. */
async function* untilEnd(
  parts: AsyncGenerator<Uint8Array<ArrayBuffer> | null, void, void>,
  left: { isMore: boolean },
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  for (let part = await parts.next(); part.done !== true; part = await parts.next()) {
    if (part.value === null) return;
    yield part.value;
  }
  left.isMore = false;
}

/**
 * One member, unpacked. An error drops what is not read yet, and a cut file is an error only once it is closed: so the
 * last member is closed when everything before its end has been read.
 */
async function* unpacked(
  parts: AsyncGenerator<Uint8Array<ArrayBuffer> | null, void, void>,
  left: { isMore: boolean },
): AsyncGenerator<Uint8Array, void, void> {
  const { writable, readable } = new DecompressionStream('gzip');
  const [writer, reader] = [writable.getWriter(), readable.getReader()];
  let isWaiting = false;
  const feed = async (): Promise<void> => {
    for await (const piece of untilEnd(parts, left)) await writer.write(piece);
    while (!left.isMore) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      if (isWaiting) break;
    }
    await writer.close();
  };
  feed().catch((error: unknown) => writer.abort(error).catch(() => undefined));
  try {
    for (;;) {
      isWaiting = true;
      const piece = await reader.read();
      isWaiting = false;
      if (piece.done) return;
      yield piece.value;
    }
  } finally {
    isWaiting = true;
    await reader.cancel();
  }
}
