import { defined, shellQuote } from '@updraft/base';
import { Fault } from '../fault.ts';
import { withDeadline, type ConnectionPool } from '../http/connections.ts';
import { NoAnswer } from '../http/no-answer.ts';
import type { ControlAnswer } from '../http/request.ts';
import { describedBy, originAt, type DavResource } from './list-collection.ts';
import type { Located, LocateOptions, ObjectServer } from './located.ts';
import { requestObject } from './object-request.ts';

/** What the server that owns an object says about it, whatever caches say. */
export interface OriginFacts extends Omit<DavResource, 'path'> {
  /** `host:port` that answered. */
  server: string;
  /** `cache` if one answered because the origin could not be asked. */
  kind: ObjectServer['kind'];
}

/** The origin itself says that there is no such object. */
export class MissingAtOrigin extends Fault {
  readonly server: string;

  constructor(url: string, { host, kind }: Pick<ObjectServer, 'host' | 'kind'>) {
    const who = kind === 'plain' ? host : `${host}, its origin,`;
    super('object-missing', `${url} is not there: ${who} says so`, {
      about: url,
      fix: 'check the spelling of the path; list its folder',
    });
    this.server = host;
  }
}

export interface OriginOptions {
  wire: ConnectionPool;
  /** Locates the object again, with other options. */
  locate: (how: LocateOptions) => Promise<Located>;
  signal?: AbortSignal | undefined;
}

/** Timeout of one request; at most two are made, and no one waits for the second once the first suffices. */
const timeoutMs = 2_500;

/**
 * Asks the origin for size, modification time and kind of an object with one small request (PROPFIND) that reads no
 * byte of it; a HEAD may make a cache compute digests. If the origin cannot be asked, a cache forwards the request.
 * Undefined if no server answers; throws MissingAtOrigin if the origin says so.
 */
export async function readOriginFacts(
  located: Located,
  options: OriginOptions,
): Promise<OriginFacts | undefined> {
  const { servers } = located;
  if (servers.some(({ url }) => url.startsWith('file:'))) return undefined;
  const cache = servers.find(({ kind }) => kind === 'cache');
  return (
    (await inTime(options, (signal) => askOrigin(located, { ...options, signal }))) ??
    (cache && (await inTime(options, (signal) => askServer(located, cache, { ...options, signal }))))
  );
}

/** The result if it comes in time; otherwise undefined. */
async function inTime(
  { wire: { clock }, signal = new AbortController().signal }: OriginOptions,
  work: (signal: AbortSignal) => Promise<OriginFacts | undefined>,
): Promise<OriginFacts | undefined> {
  const timeoutError = () => new NoAnswer('timeout', '', `no answer within ${timeoutMs} ms`);
  try {
    return await withDeadline({ clock, signal, ms: timeoutMs, timeoutError }, work);
  } catch (error) {
    signal.throwIfAborted();
    const isUnknown =
      error instanceof NoAnswer || (error instanceof Fault && !(error instanceof MissingAtOrigin));
    if (isUnknown) return undefined;
    throw error;
  }
}

async function askOrigin(located: Located, options: OriginOptions): Promise<OriginFacts | undefined> {
  const [from, origin] = (await originOf(located, options)) ?? [];
  return from && origin && (await askServer(from, origin, options));
}

/** The server that owns the object, and the headers to ask it. */
export async function originOf(
  located: Located,
  { locate, signal }: Pick<OriginOptions, 'locate' | 'signal'>,
): Promise<[Located, ObjectServer] | undefined> {
  const { collectionsUrl, servers } = located;
  const named =
    collectionsUrl === undefined ? servers.find(({ kind }) => kind !== 'cache') : originAt(collectionsUrl);
  if (named !== undefined) return [located, named];
  // A director sends PROPFIND to an origin even if bytes are served from caches only.
  const direct = await locate({ verb: 'PROPFIND', ...defined({ signal }) });
  const [first] = direct.servers;
  return first && [direct, first];
}

async function askServer(
  located: Located,
  server: ObjectServer,
  { wire, signal }: OriginOptions,
): Promise<OriginFacts | undefined> {
  const request = { method: 'PROPFIND' as const, server, headers: { Depth: '0' } };
  const how = { federation: { wire }, ...defined({ signal }) };
  const answer = await requestObject(located, request, how);
  const askHead = () => requestObject(located, { ...request, method: 'HEAD' }, how);
  // Some web servers answer 404 to methods that they do not know: a HEAD must agree.
  if (server.kind === 'plain' && isGone(answer) && !isGone(await askHead())) return undefined;
  if (server.kind !== 'origin' || (answer.status !== 405 && answer.status !== 501))
    return read(answer, located, server);
  const head = await askHead();
  if (head.status !== 200) return read(head, located, server);
  return { ...headFacts(head.headers), server: server.host, kind: server.kind };
}

/** What the headers of a HEAD say about an object. */
export function headFacts(headers: ControlAnswer['headers']): Omit<DavResource, 'path'> {
  const { 'content-length': length, etag } = headers;
  const modified = Date.parse(headers['last-modified'] ?? '');
  return {
    isCollection: headers['content-type'] === 'httpd/unix-directory',
    ...defined({ size: length === undefined ? undefined : Number(length), etag }),
    ...(Number.isNaN(modified) ? {} : { modified }),
  };
}

const isGone = ({ status }: ControlAnswer): boolean => status === 404 || status === 410;

function read(
  answer: ControlAnswer,
  { url }: Located,
  { host, kind }: ObjectServer,
): OriginFacts | undefined {
  const { status } = answer;
  // XRootD's caches answer 409 for a folder.
  if (status === 409 && kind !== 'plain') return { isCollection: true, server: host, kind };
  if (isGone(answer) && kind !== 'cache') throw new MissingAtOrigin(url, { host, kind });
  const found = describedBy(answer);
  if (found === undefined) return undefined;
  const { size, modified, isCollection, etag } = found;
  // XRootD's caches report when they last wrote to their copy.
  const version = kind === 'cache' ? {} : { modified, etag };
  return { ...defined({ size, isCollection, ...version }), server: host, kind };
}

/** The URL names a folder, but an object is needed. */
export function folderFault(url: string): Fault {
  return new Fault('url-invalid', `${url} is a folder, not an object`, {
    about: url,
    fix: `updraft get --recursive ${shellQuote(url)} fetches everything in it; in a job's inputs, add ?recursive`,
  });
}
