import type { Stats } from 'node:fs';
import { open, readdir, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { errorReason, printable, shellQuote } from '@updraft/base';
import { Fault } from '../fault.ts';
import { detectArchive } from '@updraft/archive/kinds';
import { refuseUtf16 } from './log-text.ts';
import {
  beginningBytes,
  gather,
  headBytes,
  isEventLog,
  otherLog,
  otherSyntax,
  type LogSource,
} from './scan-log.ts';

export interface LogPlaces {
  /** Where relative names begin; default: this process's folder. */
  cwd?: string;
  /** What `-` reads. */
  stdin?: () => AsyncIterable<Uint8Array>;
  /** The date of what is read from stdin, in milliseconds since the epoch. */
  now?: number;
}

/** The logs that a user names: a file, every event log in a folder, `-` for stdin. Each file once. */
export async function logSources(
  names: readonly string[],
  { cwd = '.', stdin, now = Date.now() }: LogPlaces = {},
): Promise<LogSource[]> {
  const found: FoundLog[] = [];
  for (const name of names) {
    if (name === '-' && stdin !== undefined) found.push({ source: onceOnly('stdin', now, stdin) });
    else found.push(...(await logsAt(path.resolve(cwd, name), name)));
  }
  const files = new Set<string>();
  return found.flatMap(({ source, file }) => {
    if (file !== undefined && files.has(file)) return [];
    if (file !== undefined) files.add(file);
    return [source];
  });
}

/** One log's file. */
export async function logFile(file: string, name = file): Promise<LogSource> {
  return fileSource(file, name, await statLog(file, name));
}

interface FoundLog {
  source: LogSource;
  /** Identifies the file, whatever its name. */
  file?: string;
  /** Why nothing of it can be read. */
  fault?: Fault;
}

async function logsAt(file: string, name: string): Promise<FoundLog[]> {
  const isFolder = (await stat(file).catch(() => undefined))?.isDirectory() === true;
  if (isFolder) return logsInFolder(file, name);
  const facts = await statLog(file, name);
  return [{ source: fileSource(file, name, facts), file: identity(facts) }];
}

/** Without files that could not be read; these are noted on the first log, if there is one. */
function readable(logs: readonly FoundLog[]): FoundLog[] {
  const read = logs.filter(({ fault }) => fault === undefined);
  const [first] = read;
  if (first === undefined) return [...logs];
  first.source.unread = logs.filter((log) => !read.includes(log)).map(({ source }) => source.name);
  return read;
}

const identity = ({ dev, ino }: Stats): string => `${dev} ${ino}`;

const fileSource = (file: string, name: string, { mtimeMs, size, uid }: Stats): LogSource => ({
  name,
  writtenAt: mtimeMs,
  size,
  uid,
  open: () => uncompressed(name, bytesOf(file, name)),
});

async function logsInFolder(folder: string, name: string): Promise<FoundLog[]> {
  const files = await readdir(folder).catch((cause: unknown) => {
    throw unreadable(name, cause);
  });
  const found: FoundLog[] = [];
  for (const file of files.filter((one) => !one.startsWith('.')).sort()) {
    const log = await logIn(path.join(folder, file), path.join(name, file));
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
async function logIn(file: string, name: string): Promise<FoundLog | undefined> {
  const facts = await stat(file).catch(() => undefined);
  if (facts?.isFile() !== true || facts.size === 0) return undefined;
  try {
    for await (const piece of gather(uncompressed(name, bytesOf(file, name)), headBytes)) {
      const head = piece.subarray(0, headBytes);
      if (!isEventLog(head)) return undefined;
      const syntax = otherSyntax(head);
      if (syntax !== undefined) throw otherLog(name, syntax);
      return { source: fileSource(file, name, facts), file: identity(facts) };
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { source: fileSource(file, name, facts), fault: error };
  }
  return undefined;
}

/** Bytes that can be read only once; their beginning is kept, so that it can be looked at before. */
function onceOnly(name: string, now: number, bytes: () => AsyncIterable<Uint8Array>): LogSource {
  let pieces: AsyncGenerator<Uint8Array, void, void> | undefined;
  let first: Uint8Array | undefined;
  let isUsed = false;
  return {
    name,
    writtenAt: now,
    async *open() {
      if (isUsed)
        throw new Fault('usage', `${printable(name)} can be read only once, and this needs it twice`, {
          about: name,
          fix: 'save it to a file, and name that',
        });
      pieces ??= gather(uncompressed(name, bytes()), beginningBytes);
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
}

/** Enough for `detectArchive`. */
const magicBytes = 512;

const uncompressed = (
  name: string,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> => refuseUtf16(name, decompressed(name, bytes));

async function* decompressed(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  const pieces = gather(bytes, magicBytes);
  const { value: first } = await pieces.next();
  if (first === undefined) return;
  const all = resume(first, pieces);
  const found = detectArchive(
    Buffer.from(first.buffer, first.byteOffset, Math.min(first.length, magicBytes)),
  );
  if ('program' in found)
    throw notRead(name, `is compressed by ${found.program}, which Updraft does not read`, found.program);
  if (!('kind' in found) || found.kind === 'tar' || found.kind === 'zip') return yield* all;
  const { decompress } = await import('@updraft/archive');
  try {
    yield* decompress(found.kind, name, all);
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'archive-damaged') throw error;
    throw notRead(name, 'is cut or damaged', found.kind === 'tar.gz' ? 'gzip' : 'zstd', error);
  }
}

const notRead = (name: string, what: string, program: string, cause?: Fault): Fault =>
  new Fault('file-invalid', `${printable(name)} ${what}`, {
    about: name,
    cause,
    fix: `read what can be decompressed of it: ${program} -dc ${shellQuote(name)} | updraft report -`,
  });

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

async function statLog(file: string, name: string): Promise<Stats> {
  const facts = await stat(file).catch((cause: unknown) => {
    throw unreadable(name, cause);
  });
  if (facts.isFile()) return facts;
  throw new Fault('file-invalid', `${printable(name)} is not a file, so it cannot be an event log`, {
    about: name,
    fix: facts.isFIFO() ? 'read the pipe as stdin: COMMAND | updraft report -' : nameTheLog,
  });
}

const openFile = (file: string, name: string): Promise<FileHandle> =>
  open(file).catch((cause: unknown) => {
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

const nameTheLog = 'name the event log of the jobs: the file that `log` names in their submit file';
