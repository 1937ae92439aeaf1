import type { ServerFact, TokenFact } from '../../check/facts.ts';
import { Fault } from '../../fault/fault.ts';
import type { Located, ObjectServer } from '../../federation/located.ts';
import type { ObjectOptions } from '../../federation/object-request.ts';
import { askDigests, statObject, viewServer } from '../../federation/stat-object.ts';
import { readClaims } from '../../federation/token.ts';

/** What the servers say of an object. */
export interface ObjectAnswer {
  servers: ServerFact[];
  isFolder?: boolean;
  token?: Pick<TokenFact, 'expires' | 'problem'>;
}

/** A server that takes longer to tell a size will not serve jobs well either. */
const headerMs = 8000;
/** Most servers have a digest at hand or none; reading a large object for one is not worth the wait. */
const digestMs = 5000;
const mostCaches = 6;

/** Asks the caches that the federation names for an object, and its origin, each on its own. */
export async function askObject(url: string, how: ObjectOptions): Promise<ObjectAnswer> {
  let located: Located;
  try {
    located = await how.federation.locate(url, how);
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'object-missing') throw error;
    return { servers: [{ host: 'the federation', kind: 'origin', status: 404 }] };
  }
  const token = located.requireToken ? await tokenOf(located) : undefined;
  if (token?.problem !== undefined) return { servers: [], token };
  const asked = [
    ...located.servers.slice(0, mostCaches).map((server) => ({ located, server })),
    ...(await originsOf(url, located, how)),
  ];
  const [servers, isFolder] = await Promise.all([
    Promise.all(asked.map(({ located: from, server }) => askServer(from, server, how))),
    isCollection(url, located, how),
  ]);
  return {
    servers,
    ...(isFolder === undefined ? {} : { isFolder }),
    ...(token === undefined ? {} : { token }),
  };
}

/** The origin by itself, unless it is among the servers already. */
async function originsOf(
  url: string,
  { servers }: Located,
  how: ObjectOptions,
): Promise<{ located: Located; server: ObjectServer }[]> {
  if (servers.some(({ kind }) => kind !== 'cache')) return [];
  const direct = await how.federation.locate(url, { ...how, direct: true }).catch(() => undefined);
  how.signal?.throwIfAborted();
  if (direct === undefined) return [];
  return direct.servers.slice(0, 2).map((server) => ({ located: direct, server }));
}

async function askServer(located: Located, server: ObjectServer, how: ObjectOptions): Promise<ServerFact> {
  const { host, kind } = server;
  const { status, bytes } = await viewServer(located, server, how, headerMs);
  const signal = AbortSignal.any([AbortSignal.timeout(digestMs), ...(how.signal ? [how.signal] : [])]);
  const digests =
    status === 200 ? await askDigests(located, server, { ...how, signal }).catch(() => ({})) : {};
  how.signal?.throwIfAborted();
  return {
    host,
    kind,
    ...(status === undefined ? {} : { status }),
    ...(bytes === undefined ? {} : { bytes }),
    digests,
  };
}

async function isCollection(
  url: string,
  { collectionsUrl }: Located,
  how: ObjectOptions,
): Promise<boolean | undefined> {
  if (collectionsUrl === undefined) return undefined;
  return await statObject(url, how).then(
    ({ isCollection: found }) => found,
    () => undefined,
  );
}

/** The end of the token that would be sent, or why there is none; the token itself goes nowhere. */
async function tokenOf(located: Located): Promise<Pick<TokenFact, 'expires' | 'problem'>> {
  const [server] = located.servers;
  if (server === undefined) return {};
  try {
    const { Authorization: header = '' } = await located.headers(server);
    const expires = readClaims(header.replace(/^Bearer /, ''))?.expires;
    return expires === undefined ? {} : { expires };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const { kind, message, fix = '' } = error;
    return { problem: { kind: kind === 'token-expired' ? 'expired' : 'missing', message, fix } };
  }
}
