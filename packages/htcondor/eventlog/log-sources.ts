import { constants, type Stats } from 'node:fs';
import { open, readdir, realpath, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { errorReason, isThere, printable, systemClock } from '@updraft/base';
import { Fault } from '../fault.ts';
import { detectArchive } from '@updraft/archive/kinds';
import { asUtf8 } from './log-text.ts';
import {
  beginningBytes,
  gather,
  hasXmlEvents,
  headBytes,
  isEventLog,
  xmlLog,
  type LogSource,
} from './scan-log.ts';

export interface LogPlaces {
  /** Where relative names begin; default: this process's folder. */
  cwd?: string;
  /** What `-` reads. */
  stdin?: () => AsyncIterable<Uint8Array>;
  /** The date of what is read from a pipe, in milliseconds since the epoch. */
  now?: number;
  /** Ends the wait for a pipe's writer. */
  signal?: AbortSignal;
}

/**
 * The logs that a user names: a file, compressed or not, with the parts that HTCondor has rotated away; every event log
 * in a folder; a pipe; `-` for stdin. Each file once.
 */
export async function logSources(
  names: readonly string[],
  { cwd = '.', stdin, now = Date.now(), signal }: LogPlaces = {},
): Promise<LogSource[]> {
  const found: FoundLog[] = [];
  for (const name of names) {
    if (name === '-' && stdin !== undefined) found.push({ source: pipe('stdin', now, stdin) });
    else found.push(...(await logsAt(path.resolve(cwd, name), name, { now, signal })));
  }
  const files = new Set<string>();
  return found.flatMap(({ source, file }) => {
    if (file !== undefined && files.has(file)) return [];
    if (file !== undefined) files.add(file);
    return [source];
  });
}

/** One log's file, without what was rotated away. */
export async function logFile(file: string, name = file): Promise<LogSource> {
  const facts = await statLog(file, name);
  if (!facts.isFile()) throw notAFile(name);
  return fileSource(file, name, facts);
}

interface FoundLog {
  source: LogSource;
  /** Identifies the file, whatever its name. */
  file?: string;
  /** Why nothing of it can be read. */
  fault?: Fault;
}

async function logsAt(
  file: string,
  name: string,
  { now, signal }: { now: number; signal: AbortSignal | undefined },
): Promise<FoundLog[]> {
  const facts = await statLog(file, name);
  if (facts.isDirectory()) return logsInFolder(file, name);
  if (facts.isFIFO()) return [{ source: pipe(name, now, () => bytesOfPipe(file, name, signal)) }];
  if (!facts.isFile()) throw notAFile(name);
  const log = { source: fileSource(file, name, facts), file: identity(facts) };
  return readable([...(await rotatedParts(file, name)), log]);
}

/** Without files that could not be opened; these are noted on the first log, if there is one. */
function readable(logs: readonly FoundLog[]): FoundLog[] {
  const read = logs.filter(({ fault }) => fault?.kind !== 'file-invalid');
  const first = read.find(({ fault }) => fault === undefined);
  if (first === undefined) return [...logs];
  first.source.unread = logs.filter((log) => !read.includes(log)).map(({ source }) => source.name);
  return read;
}

const identity = ({ dev, ino }: Stats): string => `${dev} ${ino}`;

function fileSource(file: string, name: string, { mtimeMs, size, uid }: Stats, partOf?: string): LogSource {
  const source: LogSource = {
    name,
    writtenAt: mtimeMs,
    size,
    uid,
    ...(partOf === undefined ? {} : { partOf }),
    open: () => uncompressed(source, bytesOf(file, name)),
  };
  return source;
}

/** More than any pool keeps. */
const maxRotations = 100;

/** HTCondor renames a full log to `X.old`, or to `X.1`, `X.2` and so on. */
async function rotatedParts(file: string, name: string): Promise<FoundLog[]> {
  const parts: FoundLog[] = [];
  const old = await logIn(`${file}.old`, `${name}.old`, name);
  if (old !== undefined) parts.push(old);
  for (let number = 1; number <= maxRotations; number++) {
    const part = await logIn(`${file}.${number}`, `${name}.${number}`, name);
    if (part === undefined) break;
    parts.push(part);
  }
  return parts;
}

const rotatedName = /\.(?:old|\d{1,3})$/;

async function logsInFolder(folder: string, name: string): Promise<FoundLog[]> {
  const files = await readdir(folder).catch((cause: unknown) => {
    throw unreadable(name, cause);
  });
  const shown = new Set(files.filter((file) => !file.startsWith('.')));
  const found: FoundLog[] = [];
  for (const file of [...shown].sort()) {
    const whole = file.replace(rotatedName, '');
    const partOf = whole !== file && shown.has(whole) ? path.join(name, whole) : undefined;
    const log = await logIn(path.join(folder, file), path.join(name, file), partOf);
    if (log !== undefined) found.push(log);
  }
  const logs = readable(found);
  if (logs.some(({ fault }) => fault === undefined)) return logs;
  const fault = logs[0]?.fault;
  if (fault !== undefined) throw fault;
  throw new Fault('file-invalid', `no file in the folder ${printable(name)} is an HTCondor event log`, {
    about: name,
    fix: `${nameTheLog}. Folders in it are not searched`,
  });
}

/** The log in a file that nobody named, if its content is one, or may have been one: damaged, or not to be opened. */
async function logIn(file: string, name: string, partOf?: string): Promise<FoundLog | undefined> {
  const facts = await stat(file).catch(() => undefined);
  if (facts?.isFile() !== true || facts.size === 0) return undefined;
  try {
    for await (const piece of gather(uncompressed({ name }, bytesOf(file, name)), headBytes)) {
      const head = piece.subarray(0, headBytes);
      if (!isEventLog(head)) return undefined;
      if (hasXmlEvents(head)) throw xmlLog(name);
      return { source: fileSource(file, name, facts, partOf), file: identity(facts) };
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (error.kind === 'file-invalid') return { source: fileSource(file, name, facts), fault: error };
    if (error.kind !== 'archive-damaged') return undefined;
    const source = { ...fileSource(file, name, facts, partOf), damage: reasonOf(error) };
    return { source: { ...source, open: () => uncompressed(source, bytesOf(file, name)) }, fault: error };
  }
  return undefined;
}

const reasonOf = ({ message }: Fault): string => message.split(': ').at(-1) ?? '';

/** Bytes that can be read only once; their beginning is kept, so that it can be looked at before. */
function pipe(name: string, now: number, bytes: () => AsyncIterable<Uint8Array>): LogSource {
  let pieces: AsyncGenerator<Uint8Array, void, void> | undefined;
  let first: Uint8Array | undefined;
  let isUsed = false;
  const source: LogSource = {
    name,
    writtenAt: now,
    async *open() {
      if (isUsed)
        throw new Fault('usage', `${printable(name)} can be read only once, and this needs it twice`, {
          about: name,
          fix: 'save it to a file, and name that',
        });
      pieces ??= gather(uncompressed(source, bytes()), beginningBytes);
      first ??= (await pieces.next()).value?.slice() ?? new Uint8Array();
      if (first.length > 0) yield first;
      for (;;) {
        const next = await pieces.next();
        if (next.done === true) return;
        isUsed = true;
        yield next.value;
      }
    },
  };
  return source;
}

/** Enough for `detectArchive`. */
const magicBytes = 512;

const uncompressed = (
  source: Pick<LogSource, 'name' | 'damage'>,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> => asUtf8(decompressed(source, bytes));

/** Of a cut or damaged file, as much as can be decompressed; nothing at all is a fault. */
async function* decompressed(
  source: Pick<LogSource, 'name' | 'damage'>,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  const pieces = gather(bytes, magicBytes);
  const { value: first } = await pieces.next();
  if (first === undefined) return;
  const all = resume(first, pieces);
  const found = detectArchive(
    Buffer.from(first.buffer, first.byteOffset, Math.min(first.length, magicBytes)),
  );
  if (!('kind' in found) || found.kind === 'tar' || found.kind === 'zip') return yield* all;
  const { decompress } = await import('@updraft/archive');
  let isSome = false;
  try {
    for await (const piece of decompress(found.kind, source.name, all)) {
      isSome = true;
      yield piece;
    }
  } catch (error) {
    const isKnown = isSome || source.damage !== undefined;
    if (!isKnown || !(error instanceof Fault) || error.kind !== 'archive-damaged') throw error;
    source.damage = reasonOf(error);
  }
}

async function* resume(
  first: Uint8Array,
  rest: AsyncGenerator<Uint8Array, void, void>,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return();
  }
}

/** Larger pieces are slower: they leave the processor's cache before they are read. */
const pieceBytes = 256 * 1024;

async function* bytesOf(file: string, name: string): AsyncGenerator<Uint8Array> {
  await using handle = await openFile(file, name);
  const piece = Buffer.allocUnsafeSlow(pieceBytes);
  for (;;) {
    const { bytesRead } = await handle.read(piece, 0, pieceBytes, null);
    if (bytesRead === 0) return;
    yield piece.subarray(0, bytesRead);
  }
}

/** Longer waits slow the writer down, shorter ones cost CPU while it thinks. */
const [minPipeWait, maxPipeWait] = [1, 20];

/**
 * The bytes of a pipe. A blocking read could not be interrupted. A named pipe without a writer waits for one; any other
 * is at its end.
 */
async function* bytesOfPipe(
  file: string,
  name: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  await using handle = await openFile(file, name, constants.O_RDONLY | constants.O_NONBLOCK);
  const piece = Buffer.allocUnsafeSlow(pieceBytes);
  // What the shell calls /dev/fd/63 has no name of its own.
  let mayStart = await isThere(await realpath(file).catch(() => ''));
  for (let wait = minPipeWait; ;) {
    const bytesRead = await readNow(handle, piece);
    if (bytesRead === 0 && !mayStart) return;
    if (bytesRead === undefined || bytesRead === 0) {
      await systemClock.sleep(wait, signal);
      wait = Math.min(wait * 2, maxPipeWait);
      continue;
    }
    [mayStart, wait] = [false, minPipeWait];
    yield piece.subarray(0, bytesRead);
  }
}

/** Undefined if the writer has not written more yet; 0 if there is none. */
async function readNow(handle: FileHandle, piece: Uint8Array): Promise<number | undefined> {
  try {
    return (await handle.read(piece, 0, piece.length, null)).bytesRead;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}

const statLog = (file: string, name: string): Promise<Stats> =>
  stat(file).catch((cause: unknown) => {
    throw unreadable(name, cause);
  });

const openFile = (file: string, name: string, how: string | number = 'r'): Promise<FileHandle> =>
  open(file, how).catch((cause: unknown) => {
    throw unreadable(name, cause);
  });

function unreadable(name: string, cause: unknown): Fault {
  const { code } = cause as NodeJS.ErrnoException;
  const isForbidden = code === 'EACCES';
  const what =
    code === 'ENOENT'
      ? 'does not exist'
      : isForbidden
        ? 'is not readable for you'
        : `cannot be read: ${errorReason(cause)}`;
  return new Fault('file-invalid', `the event log ${printable(name)} ${what}`, {
    about: name,
    cause,
    fix: isForbidden ? 'ask its owner for permission, or for a copy' : nameTheLog,
  });
}

const notAFile = (name: string): Fault =>
  new Fault('file-invalid', `${printable(name)} is not a file or pipe, so it cannot be an event log`, {
    about: name,
    fix: nameTheLog,
  });

const nameTheLog = 'name the event log of the jobs: the file that `log` names in their submit file';
