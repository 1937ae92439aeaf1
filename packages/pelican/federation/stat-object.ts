import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { defined, shellQuote } from '@updraft/base';
import { Fault } from '../fault.ts';
import { firstAnswer, withDeadline, type ConnectionPool } from '../http/connections.ts';
import { NoAnswer } from '../http/no-answer.ts';
import type { ControlAnswer } from '../http/exchange.ts';
import type { Located, LocateOptions, ObjectServer } from './located.ts';
import {
  noAnswerFault,
  requestObject,
  statusFault,
  type ObjectOptions,
  type WireOptions,
} from './object-request.ts';
import { describedBy, originAt, type DavResource } from './list-collection.ts';

/** What can be known about an object without reading it. */
export interface ObjectInfo extends Omit<OriginFacts, 'kind'> {
  url: string;
  /** Seconds it has been in the cache that answered. */
  age?: number;
  digests: Digests;
}

export interface StatOptions extends ObjectOptions {
  /** Ask for digests too: a server may read the whole object to answer. */
  digest?: boolean;
}

/** An origin that computes a digest reads a few hundred megabytes per second. */
const digestMs = 15 * 60_000;

/**
 * Asks the origin; if it does not answer or does not have the object, the other servers in turn until one has it.
 * Throws `object-missing` only if the origin says so.
 */
export async function statObject(url: string, options: StatOptions): Promise<ObjectInfo> {
  const { federation, signal, digest } = options;
  const located = await federation.locate(url, options);
  const [first] = located.servers;
  if (first?.url.startsWith('file:') === true) return await statFile(located.url, first);
  const know = {
    wire: federation.wire,
    locate: (how: LocateOptions) => federation.locate(url, { ...options, ...how }),
    signal,
  };
  try {
    const known = await readOriginFacts(located, know);
    if (known === undefined) return await askServers(located, options);
    const { size, modified, etag, isCollection, server } = known;
    const digests = digest === true && !isCollection ? await findDigests(located, know, options) : {};
    return { url: located.url, ...defined({ size, modified, etag, isCollection, server }), digests };
  } catch (error) {
    if (!(error instanceof MissingAtOrigin)) throw error;
    // There may be another origin, or a cache that still has it.
    return await askServers(located, options).catch(() => {
      signal?.throwIfAborted();
      throw error;
    });
  }
}

/** Caches that have the object know its digests; the origin may have to read all of it to compute them. */
async function findDigests(located: Located, know: OriginOptions, options: StatOptions): Promise<Digests> {
  const caches = located.servers.filter(({ kind }) => kind === 'cache');
  const ask = async (server: ObjectServer, how: StatOptions): Promise<Digests | undefined> => {
    const { holds } = await askCopy(located, server, how);
    const digests = holds === 'whole' ? await askDigests(located, server, how) : {};
    return Object.keys(digests).length > 0 ? digests : undefined;
  };
  const known = await firstAnswer(caches, ask, options);
  if (known !== undefined) return known;
  const [from, origin] = (await originOf(located, know)) ?? [];
  return from && origin ? await askDigests(from, origin, options) : {};
}

async function askServers(located: Located, options: StatOptions): Promise<ObjectInfo> {
  let worst: Fault | undefined;
  const ask = async (server: ObjectServer, how: StatOptions) => {
    try {
      const answer = await requestObject(located, { method: 'HEAD', server }, how);
      if (answer.status === 200) return { server, answer };
      const { url: object, tokenFix } = located;
      const fault = statusFault(answer.status, { ...answer, object, host: server.host, tokenFix });
      if (fault.kind === 'object-missing' && server.kind !== 'cache') throw fault;
      worst = worse(worst, fault);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      worst = worse(worst, noAnswerFault(located.url, error));
    }
    return undefined;
  };
  const first = await firstAnswer(located.servers, ask, options);
  if (first !== undefined) return await fromHead(located, first.server, first.answer, options);
  throw worst === undefined || worst.kind === 'object-missing' ? uncertainFault(located) : worst;
}

async function statFile(url: string, server: ObjectServer): Promise<ObjectInfo> {
  try {
    const info = await stat(fileURLToPath(server.url));
    const isCollection = info.isDirectory();
    return {
      url,
      isCollection,
      ...(isCollection ? {} : { size: info.size }),
      modified: info.mtimeMs,
      digests: {},
      server: server.host,
    };
  } catch (error) {
    throw new Fault('object-missing', `${url} cannot be read: ${(error as Error).message}`, {
      about: url,
      cause: error,
    });
  }
}

async function fromHead(
  located: Located,
  server: ObjectServer,
  { headers }: ControlAnswer,
  options: StatOptions,
): Promise<ObjectInfo> {
  const age = Number(headers['age'] ?? Number.NaN);
  const digests =
    options.digest === true
      ? await askDigests(located, server, options)
      : parseDigestHeader(headers['digest']);
  return {
    url: located.url,
    ...headFacts(headers),
    ...(Number.isNaN(age) ? {} : { age }),
    digests,
    server: server.host,
  };
}

/** A missing digest is not a fault: many servers have none. */
export async function askDigests(
  located: Located,
  server: ObjectServer,
  options: ObjectOptions,
  want = wantDigest,
): Promise<Digests> {
  try {
    // Without this header a cache gives up on its origin after a few seconds.
    const headers = { 'Want-Digest': want, 'X-Pelican-Timeout': `${digestMs / 1000}s` };
    const answer = await requestObject(
      located,
      { method: 'HEAD', server, headers, headerMs: digestMs },
      options,
    );
    return answer.status === 200 ? parseDigestHeader(answer.headers['digest']) : {};
  } catch (error) {
    if (error instanceof NoAnswer) return {};
    throw error;
  }
}

/** The fault to report: a 404 that is not final says least. */
const worse = (before: Fault | undefined, now: Fault): Fault =>
  before === undefined || before.kind === 'object-missing' ? now : before;

/** Caches remember a 404 for a while after the object appears, and a new one may not know the whole federation yet. */
function uncertainFault({ url }: Located): Fault {
  return new Fault('servers-unreachable', `${url}: no cache has it, and its origin does not answer`, {
    about: url,
    fix: 'check the spelling of the path, and try again later: only the origin can say that it is not there',
  });
}

/** What one server says about an object. */
export interface ServerView extends Omit<CachedCopy, 'holds'> {
  server: ObjectServer;
  /** For caches: what they have of it. */
  holds?: CachedCopy['holds'];
  /** Why there is no answer. */
  silence?: NoAnswer;
}

/** Asks one server what it has of an object. No answer is a result, too; a missing token is thrown. */
export async function viewServer(
  located: Located,
  server: ObjectServer,
  how: ObjectOptions,
  headerMs?: number,
): Promise<ServerView> {
  if (server.url.startsWith('file:')) return { server };
  await located.headers(server);
  try {
    if (server.kind === 'cache') return { server, ...(await askCopy(located, server, how)) };
    const request = { method: 'HEAD' as const, server, ...defined({ headerMs }) };
    const { status, headers } = await requestObject(located, request, how);
    const [length, age] = [headers['content-length'], headers['age']];
    return {
      server,
      status,
      ...(length === undefined || status !== 200 ? {} : { bytes: Number(length) }),
      ...(age === undefined ? {} : { age: Number(age) }),
    };
  } catch (error) {
    how.signal?.throwIfAborted();
    return { server, ...(error instanceof NoAnswer && { silence: error }) };
  }
}

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
async function originOf(
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
function headFacts(headers: ControlAnswer['headers']): Omit<DavResource, 'path'> {
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

/** What a cache has of an object. */
export interface CachedCopy {
  /** `unknown` if the server cannot be asked or does not answer. */
  holds: 'whole' | 'part' | 'none' | 'unknown';
  /** HTTP status; undefined if it does not answer. */
  status?: number;
  bytes?: number;
  /** Seconds it has been there. */
  age?: number;
}

const headerMs = 6_000;

/**
 * Asks a cache whether it has an object, at no cost to the origin: `only-if-cached` keeps it from asking the origin for
 * size and digests, which takes minutes for a big object. XRootD does neither for a HEAD, and its `Age` shows a copy.
 */
export async function askCopy(located: Located, server: ObjectServer, how: WireOptions): Promise<CachedCopy> {
  const head = (headers: Record<string, string> = {}): Promise<ControlAnswer> =>
    requestObject(located, { method: 'HEAD', server, headers, headerMs }, how);
  try {
    const asked = await head({ 'Cache-Control': 'only-if-cached' });
    if (asked.status === 504) return { holds: 'none', status: 504 };
    if (asked.status !== 200) return { holds: 'unknown', status: asked.status };
    const software = asked.headers['server'] ?? '';
    const isXrootd = /^xrootd/i.test(software);
    // Pelican's own cache gives an Age only to a plain HEAD, which costs nothing if it has the object.
    const reported = isXrootd || ageOf(asked) !== undefined ? asked : await head();
    const [age, length] = [ageOf(reported), asked.headers['content-length']];
    // XRootD before 6 reports its version and gives no Age to a HEAD. Later ones do if they have the whole object.
    const without = isXrootd ? (software === 'XRootD' ? 'none' : 'unknown') : 'part';
    const holds = age === undefined ? without : 'whole';
    return {
      holds,
      status: 200,
      ...(age !== undefined && { age }),
      ...(length !== undefined && { bytes: Number(length) }),
    };
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    return { holds: 'unknown' };
  }
}

const ageOf = ({ headers }: ControlAnswer): number | undefined =>
  headers['age'] === undefined ? undefined : Number(headers['age']);
/** Digests of a whole object, in lower-case hex. */
export type Digests = Partial<Record<'md5' | 'crc32c' | 'sha1' | 'sha256' | 'adler32', string>>;

const bytesOf: Record<keyof Digests, number> = { md5: 16, crc32c: 4, sha1: 20, sha256: 32, adler32: 4 };
const names: Record<string, keyof Digests> = {
  md5: 'md5',
  crc32c: 'crc32c',
  sha: 'sha1',
  'sha-1': 'sha1',
  'sha-256': 'sha256',
  adler32: 'adler32',
};

/**
 * Digests that Pelican and XRootD servers have, in order of preference: the cheapest to compute that finds all
 * accidental damage. A server's digest is no proof against the server itself, so a stronger one gains nothing.
 * Not `crc32`: XRootD 5 computes cksum's, XRootD 6 and Pelican zlib's.
 */
export const algorithms = ['crc32c', 'sha-256', 'sha', 'md5', 'adler32'] as const;

/** For `Want-Digest`. Pelican's origin computes each digest without a weight, so only the first has none. */
export const wantOf = (names: readonly string[]): string =>
  names.map((name, place) => (place === 0 ? name : `${name};q=0.${9 - place}`)).join(', ');

export const wantDigest = wantOf(algorithms);

/**
 * Reads a Digest header (RFC 3230). Servers write checksums in hex, with or without leading zeros, and hashes in
 * base64, or the other way round. A value of the wrong length is mislabelled and dropped: ignoring a digest costs a
 * check, trusting a wrong one costs the object.
 */
export function parseDigestHeader(header: string | undefined): Digests {
  const digests: Digests = {};
  for (const part of (header ?? '').split(',')) {
    const equals = part.indexOf('=');
    const name = names[part.slice(0, Math.max(0, equals)).trim().toLowerCase()];
    if (name === undefined) continue;
    const value = toHex(part.slice(equals + 1).trim(), bytesOf[name]);
    if (value !== undefined) digests[name] = value;
  }
  return digests;
}

function toHex(value: string, bytes: number): string | undefined {
  const isShort = bytes === 4;
  if (/^[0-9a-f]+$/i.test(value) && (isShort ? value.length <= 8 : value.length === bytes * 2))
    return value.toLowerCase().padStart(bytes * 2, '0');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(value)) return undefined;
  const decoded = Buffer.from(value, 'base64');
  return decoded.length === bytes ? decoded.toString('hex') : undefined;
}
