import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { archiveKind, counted, formatSize } from '@updraft/base';
import type { ObjectFact } from '../../check/facts.ts';
import { asFault, Fault } from '../../fault/fault.ts';
import type { FetchEvent, FetchOptions } from '@updraft/pelican/transfer';
import type { UnpackerOptions } from '@updraft/archive';
import type { AskedObject, ObjectReport } from './gathered.ts';

/** Enough for the first entries, and cheap for a server. */
const headBytes = 256 << 10;
/** A slow server is given up: other checks report it. */
const headMs = 8_000;
const limits = { maxServers: 1, maxPasses: 1, maxUnreachedPasses: 1, digestSeconds: 0, windowBytes: 1 << 20 };

type ArchiveFacts = Pick<ObjectFact, 'archiveProblem'>;

/** Reads the first bytes of an object, so that a broken archive or a page is known before anything is queued. */
export async function askArchive(
  asked: AskedObject,
  read: (bytes: number) => Promise<Buffer>,
): Promise<ArchiveFacts> {
  const mode = unpackMode(asked);
  if (mode === undefined && !mayBePage(asked)) return idleExpectation(asked);
  const head = await read(headBytes).catch((error: unknown) => asFault(error));
  const { inspectHead, isPage } = await import('@updraft/archive');
  // A server that declares a page is not read.
  if (head instanceof Fault ? head.kind === 'data-wrong' : mayBePage(asked) && isPage(head))
    return { archiveProblem: pageProblem(asked) };
  // Other checks report what cannot be read.
  if (head instanceof Fault) return {};
  if (mode === undefined) return idleExpectation(asked);
  const problem = await inspectHead(head, { name: nameOf(asked), mode, whole: head.length < headBytes });
  if (problem === undefined) return {};
  const { message, fix } = problem;
  return { archiveProblem: { message, ...(fix !== undefined && { fix }) } };
}

const nameOf = ({ url }: AskedObject): string => path.posix.basename(url.replace(/[?#].*$/, ''));

/** Undefined for an object that stays as it is. */
function unpackMode(asked: AskedObject): UnpackerOptions['mode'] | undefined {
  const { unpack = 'none' } = asked;
  return unpack === 'none' || (unpack === 'auto' && archiveKind(nameOf(asked)) === undefined)
    ? undefined
    : unpack;
}

/** Web servers answer with a list of files, or a page to sign in, where data was meant. */
const mayBePage = (asked: AskedObject): boolean =>
  asked.unpack === 'auto' && /^https?:/i.test(asked.url) && !/\.x?html?$/i.test(nameOf(asked));

const pageProblem = ({ url }: AskedObject): NonNullable<ObjectFact['archiveProblem']> => ({
  message: `${url} is an HTML page, like a list of files or a page to sign in, not the data itself`,
  fix: 'open it in a browser and copy the address of the file to download; if the page is meant, set unpack = "none"',
});

/** `expect.files` counts what comes out of an archive. */
function idleExpectation(asked: AskedObject): ArchiveFacts {
  const { url, expect } = asked;
  if (asked.unpack === undefined || (expect?.files ?? 1) === 1) return {};
  return {
    archiveProblem: {
      message: `${url} is not unpacked, so it is one file, but the job file expects ${expect?.files ?? 0}`,
      fix:
        asked.unpack === 'none'
          ? 'remove unpack = "none", or expect'
          : 'its name does not say what kind of archive it is: set unpack, like unpack = "tar.gz"',
    },
  };
}

/** Reading a few bytes of an object; the transfer stops once they have arrived. */
export async function fetchHead(url: string, bytes: number, options: FetchOptions): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  const enough = new Error('enough');
  const take = (chunk: Buffer): void => {
    pieces.push(Buffer.from(chunk));
    size += chunk.length;
    if (size >= bytes) throw enough;
  };
  const { fetchToStream } = await import('@updraft/pelican/transfer');
  const wrong = new AbortController();
  const ends = [wrong.signal, AbortSignal.timeout(headMs), ...(options.signal ? [options.signal] : [])];
  const signal = AbortSignal.any(ends);
  const onEvent = (event: FetchEvent): void => {
    // A job would ask again, in case that it passes.
    if (event.kind === 'setback' && event.fault.kind === 'data-wrong') wrong.abort(event.fault);
  };
  try {
    await fetchToStream(url, take, { ...options, signal, onEvent, limits });
  } catch (error) {
    if (size < bytes) throw error;
  }
  return Buffer.concat(pieces).subarray(0, bytes);
}

/** Data on this machine: its size, its first bytes, and within `countMs` the number of its files. */
export async function checkLocal(
  asked: AskedObject,
  signal: AbortSignal,
  countMs: number,
): Promise<ObjectReport> {
  const { label, url, place, declared, isProven, folder, expect } = asked;
  const file = fileURLToPath(url);
  const size = folder?.bytes ?? (await stat(file)).size;
  const servers = [{ host: 'this machine', kind: 'plain' as const, status: 200, bytes: size }];
  const object: ObjectFact = { label, url, place, declared, isProven, servers };
  const said = `${formatSize(size)} on this machine`;
  if (folder !== undefined) {
    const files = counted(expect?.files ?? 0, 'file');
    return { object, looked: { what: label, said: `${files}, ${said}; packed when the run is created` } };
  }
  const read = (range: { end?: number }): AsyncIterable<Buffer> =>
    createReadStream(file, { ...range, signal, highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>;
  const head = async (bytes: number): Promise<Buffer> =>
    Buffer.concat(await Array.fromAsync(read({ end: bytes - 1 })));
  Object.assign(object, await askArchive(asked, head));
  const mode = unpackMode(asked);
  if (object.archiveProblem !== undefined || mode === undefined || expect?.files === undefined)
    return { object, looked: { what: label, said } };
  const { countArchiveFiles } = await import('@updraft/archive');
  const until = performance.now() + countMs;
  const found = await countArchiveFiles(read({}), { name: file, mode }, () => performance.now() > until);
  if (found === undefined) {
    const why = `its files were not counted: that takes more than ${Math.round(countMs / 1000)} s; every job counts them`;
    return { object, looked: { what: label, said }, unchecked: { what: label, why } };
  }
  object.files = { found, declared: expect.files };
  return { object, looked: { what: label, said: `${counted(found, 'file')}, ${said}` } };
}
