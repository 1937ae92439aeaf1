import path from 'node:path';
import { archiveKind } from '../../base/archive-kinds.ts';
import type { ObjectFact } from '../../check/facts.ts';
import { fetchToStream } from '../../transfer/fetch-to-stream.ts';
import type { FetchOptions } from '../../transfer/fetch.ts';
import { inspectHead } from '../../unpack/inspect-head.ts';
import type { PlannedData } from '../../job/plan.ts';

/** Enough for the first entries, and little to ask of a server. */
const headBytes = 256 << 10;
/** A server that does not give them soon is left: others find out, and say, what it is. */
const headPolicy = {
  maxServers: 1,
  laps: 1,
  unreachedLaps: 1,
  budgetSeconds: 8,
  digestSeconds: 0,
  windowBytes: 1 << 20,
};

/** Reads the first headers of an archive, so that one that cannot be unpacked is known before anything is queued. */
export async function askArchive(
  { url, unpack = 'none' }: { url: string; unpack?: PlannedData['unpack'] },
  read: (bytes: number) => Promise<Buffer>,
): Promise<Pick<ObjectFact, 'archiveProblem'>> {
  const name = path.posix.basename(url.replace(/[?#].*$/, ''));
  if (unpack === 'none' || (unpack === 'auto' && archiveKind(name) === undefined)) return {};
  // What cannot be read is for others to say.
  const head = await read(headBytes).catch(() => undefined);
  if (head === undefined) return {};
  const problem = await inspectHead(head, { name, mode: unpack, whole: head.length < headBytes });
  if (problem === undefined) return {};
  const { message, fix } = problem;
  return { archiveProblem: { message, ...(fix !== undefined && { fix }) } };
}

/** The first bytes of an object; the rest is not asked for once they are there. */
export async function fetchHead(url: string, bytes: number, options: FetchOptions): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  const enough = new Error('enough');
  const take = (chunk: Buffer): void => {
    pieces.push(Buffer.from(chunk));
    size += chunk.length;
    if (size >= bytes) throw enough;
  };
  try {
    await fetchToStream(url, take, { ...options, policy: headPolicy });
  } catch (error) {
    if (size < bytes) throw error;
  }
  return Buffer.concat(pieces).subarray(0, bytes);
}
