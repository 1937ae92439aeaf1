import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { defined } from '../base/defined.ts';
import { Fault } from '../fault/fault.ts';
import { NoAnswer } from '../http/no-answer.ts';
import type { ControlAnswer } from '../http/request.ts';
import { parseDigestHeader, wantDigest, type Digests } from './digest-header.ts';
import { propfind } from './list-collection.ts';
import type { Located, ObjectServer } from './located.ts';
import { noAnswerFault, requestObject, statusFault, type ObjectOptions } from './object-request.ts';

/** What can be known of an object without reading it. */
export interface ObjectInfo {
  url: string;
  isCollection: boolean;
  size?: number;
  etag?: string;
  /** Milliseconds since the epoch. */
  modified?: number;
  /** Seconds it has been in the cache that answered. */
  age?: number;
  digests: Digests;
  /** `host:port` that answered. */
  server: string;
}

export interface StatOptions extends ObjectOptions {
  /** Ask for digests too: a server may read the whole object to answer. */
  digest?: boolean;
}

/** An origin that has to compute a digest reads some hundred megabytes a second. */
const digestMs = 15 * 60_000;

/**
 * Asks the servers named for an object, one after the other, until one knows it; then, where listings are
 * allowed, the origin. Throws `object-missing` only when the origin or all of them say so.
 */
export async function statObject(url: string, options: StatOptions): Promise<ObjectInfo> {
  const located = await options.federation.locate(url, options);
  const answers: ServerAnswer[] = [];
  let worst: Fault | undefined;
  for (const server of located.servers) {
    if (server.url.startsWith('file:')) return await statFile(located.url, server);
    try {
      const answer = await requestObject(located, { method: 'HEAD', server }, options);
      if (answer.status === 200) return await fromHead(located, server, answer, options);
      answers.push({ server, status: answer.status });
      const { url: object, tokenFix } = located;
      worst = worse(worst, statusFault(answer.status, { object, host: server.host, tokenFix }));
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      answers.push({ server, status: undefined });
      worst = worse(worst, noAnswerFault(located.url, error));
    }
  }
  const listed = located.collectionsUrl === undefined ? undefined : await fromListing(located, options);
  if (listed !== undefined) return listed;
  throw isFinalMissing(located.servers, answers) ? missing(located.url) : (worst ?? missing(located.url));
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

/** A folder at XRootD has a length, as if it were an object, and no date: the listing knows better, if there is one. */
async function fromHead(
  located: Located,
  server: ObjectServer,
  answer: ControlAnswer,
  options: StatOptions,
): Promise<ObjectInfo> {
  const { headers } = answer;
  const listed =
    located.collectionsUrl === undefined
      ? undefined
      : await fromListing(located, options).catch(() => undefined);
  if (listed?.isCollection === true) return listed;
  const length = headers['content-length'];
  const modified = Date.parse(headers['last-modified'] ?? '');
  const age = Number(headers['age'] ?? Number.NaN);
  const digests =
    options.digest === true
      ? await askDigests(located, server, options)
      : parseDigestHeader(headers['digest']);
  return {
    ...listed,
    url: located.url,
    isCollection: headers['content-type'] === 'httpd/unix-directory',
    ...defined({ size: length === undefined ? undefined : Number(length), etag: headers['etag'] }),
    ...(Number.isNaN(modified) ? {} : { modified }),
    ...(Number.isNaN(age) ? {} : { age }),
    digests,
    server: server.host,
  };
}

/** No digest is no fault: many servers have none. */
export async function askDigests(
  located: Located,
  server: ObjectServer,
  options: ObjectOptions,
  want = wantDigest,
): Promise<Digests> {
  try {
    const headers = { 'Want-Digest': want };
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

/** The origin's own word, which also knows collections; undefined when it says nothing useful. */
async function fromListing(located: Located, options: StatOptions): Promise<ObjectInfo | undefined> {
  const { self, host } = await propfind(located, options, '0').catch((error: unknown) => {
    if (error instanceof Fault && error.kind !== 'object-missing') return { self: undefined, host: '' };
    throw error;
  });
  if (self === undefined) return undefined;
  const { isCollection, size, etag, modified } = self;
  return {
    url: located.url,
    ...defined({ isCollection, size, etag, modified }),
    digests: {},
    server: host,
  };
}

/** The fault worth reporting: a 404 that is not final says least. */
function worse(before: Fault | undefined, now: Fault): Fault {
  return before === undefined || before.kind === 'object-missing' ? now : before;
}

function missing(url: string): Fault {
  return new Fault('object-missing', `${url} is at none of its servers`, {
    about: url,
    fix: 'check the spelling of the path; list its folder',
  });
}

/** What a server said about an object: a status, or nothing where it could not be reached. */
export interface ServerAnswer {
  server: ObjectServer;
  status: number | undefined;
}

/**
 * Whether an object is missing for good. Caches remember a 404 for a while after the object has come, and a new one
 * may know only half of the federation: one server's 404 is final only if that server is the origin, or if every
 * server named for the object says the same.
 */
export function isFinalMissing(servers: ObjectServer[], answers: ServerAnswer[]): boolean {
  const missing = answers.filter(({ status }) => status === 404 || status === 410);
  if (missing.some(({ server }) => server.kind !== 'cache')) return true;
  const sayingSo = new Set(missing.map(({ server }) => server.url));
  return servers.length > 0 && servers.every(({ url }) => sayingSo.has(url));
}

/** What one server says of an object. */
export interface ServerView {
  server: ObjectServer;
  /** HTTP status; undefined when it does not answer. */
  status?: number;
  bytes?: number;
  /** Seconds it has been in this cache; undefined where the server says nothing of it. */
  age?: number;
}

/** Asks one server, and no other, what it has of an object. Silence is an answer, too; a missing token is thrown. */
export async function viewServer(
  located: Located,
  server: ObjectServer,
  how: ObjectOptions,
  headerMs?: number,
): Promise<ServerView> {
  if (server.url.startsWith('file:')) return { server };
  await located.headers(server);
  try {
    const request = { method: 'HEAD' as const, server, ...defined({ headerMs }) };
    const { status, headers } = await requestObject(located, request, how);
    const [length, age] = [headers['content-length'], headers['age']];
    return {
      server,
      status,
      ...(length === undefined || status !== 200 ? {} : { bytes: Number(length) }),
      ...(age === undefined ? {} : { age: Number(age) }),
    };
  } catch {
    how.signal?.throwIfAborted();
    return { server };
  }
}
