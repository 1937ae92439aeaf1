import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { defined } from '@updraft/base';
import { Fault } from '../fault.ts';
import { firstAnswer } from '../http/connections.ts';
import { NoAnswer } from '../http/no-answer.ts';
import type { ControlAnswer } from '../http/request.ts';
import { askCopy, type CachedCopy } from './cached-copy.ts';
import { parseDigestHeader, wantDigest, type Digests } from './digest-header.ts';
import {
  headFacts,
  readOriginFacts,
  MissingAtOrigin,
  originOf,
  type OriginFacts,
  type OriginOptions,
} from './origin-facts.ts';
import type { Located, LocateOptions, ObjectServer } from './located.ts';
import { noAnswerFault, requestObject, statusFault, type ObjectOptions } from './object-request.ts';

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
