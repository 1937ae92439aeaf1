import { counted, defined, formatSize } from '@updraft/base';
import type { ObjectFact, ServerFact, TokenFact } from '../check/facts.ts';
import { describeLeftOut, describePreference } from '@updraft/account/codes';
import { Fault } from '@updraft/account/fault';
import {
  askCopy,
  askDigests,
  type Located,
  MissingAtOrigin,
  type ObjectOptions,
  type ObjectServer,
  originAt,
  readClaims,
  viewServer,
} from '@updraft/pelican/federation';
import { statUrl } from './object-proof.ts';

/** What the servers say about an object. */
export interface ObjectAnswer {
  servers: ServerFact[];
  isFolder?: boolean;
  token?: Pick<TokenFact, 'expires' | 'problem'>;
  /** Which servers are preferred or left out, and by whom. */
  choice?: string;
}

/** A server that takes longer to answer a HEAD will not serve jobs well either. */
const headerMs = 8000;
const maxCaches = 6;
/** A server takes too long to compute the digest of a larger object. */
const maxDigestBytes = 64 << 20;
const digestMs = 5000;

/** Asks the origin about an object, and the caches that the director names whether they have it. */
export async function askServers(url: string, how: ObjectOptions): Promise<ObjectAnswer> {
  let located: Located;
  try {
    located = await how.federation.locate(url, how);
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'object-missing') throw error;
    return { servers: [{ host: 'the federation', kind: 'plain', status: 404 }] };
  }
  const token = located.requireToken ? await tokenOf(located) : undefined;
  if (token?.problem !== undefined) return { servers: [], token };
  const caches = located.servers.filter(({ kind }) => kind === 'cache').slice(0, maxCaches);
  const others = located.servers.filter(({ kind }) => kind === 'plain');
  const [asked, origin] = await Promise.all([
    Promise.all([
      ...others.map((server) => askServer(located, server, how)),
      ...caches.map((server) => askCache(located, server, how)),
    ]),
    others.length === 0 ? askOrigin(url, located, how) : undefined,
  ]);
  const servers = origin === undefined ? asked : [...asked, ...origin.servers];
  // A plain server asks for a token in its answer; in a federation the director already said so.
  const [first] = servers;
  const isRefused = servers.every(({ status }) => status === 401 || status === 403);
  if (first !== undefined && isRefused) return refused(first, how.tokenFile ?? (token && 'your token'));
  return { servers, choice: describeChoice(located), ...defined({ isFolder: origin?.isFolder, token }) };
}

function refused({ host, status }: ServerFact, sent: string | undefined): ObjectAnswer {
  const why = status === 401 ? 'it needs a token' : 'it refuses access without a token';
  return sent === undefined
    ? withoutToken(`${host} answers ${status ?? ''}: ${why}`)
    : withoutToken(`${host} answers ${status ?? ''} to ${sent}`, 'get a token that may read this path');
}

function describeChoice({ servers, leftOut = [] }: Located): string {
  const preferred = servers.flatMap(({ host, preferredBy: by }) =>
    by === undefined ? [] : [`; ${host} ${describePreference(by)}`],
  );
  return [...preferred, ...leftOut.map((one) => `; ${one.server} ${describeLeftOut(one)}`)].join('');
}

async function askCache(located: Located, server: ObjectServer, how: ObjectOptions): Promise<ServerFact> {
  const { host, kind } = server;
  const { holds: copy, status, bytes } = await askCopy(located, server, how);
  const digests = copy === 'whole' ? await digestsAt(located, server, bytes, how) : {};
  return { host, kind, copy, ...defined({ status, bytes }), digests };
}

/** By HEAD: for servers that are not caches, or where nothing else describes the object. */
async function askServer(located: Located, server: ObjectServer, how: ObjectOptions): Promise<ServerFact> {
  const { host, kind } = server;
  const { status, bytes, silence } = await viewServer(located, server, how, headerMs);
  const digests = status === 200 ? await digestsAt(located, server, bytes, how) : {};
  const unknownHost = silence?.reason === 'name' ? silence.host : undefined;
  return { host, kind, ...defined({ status, bytes, silence: silence?.message, unknownHost }), digests };
}

async function askOrigin(
  url: string,
  located: Located,
  how: ObjectOptions,
): Promise<{ servers: ServerFact[]; isFolder?: boolean }> {
  const { collectionsUrl } = located;
  try {
    const known = await statUrl(url, how);
    const { server: host = '', kind, size: bytes, isCollection: isFolder } = known ?? {};
    if (kind !== 'origin') return { servers: await askDirectly(url, how), ...defined({ isFolder }) };
    const lister = collectionsUrl === undefined ? undefined : originAt(collectionsUrl);
    const digests = lister?.host === host ? await digestsAt(located, lister, bytes, how) : {};
    return {
      servers: [{ host, kind, status: 200, ...defined({ bytes }), digests }],
      ...defined({ isFolder }),
    };
  } catch (error) {
    if (!(error instanceof MissingAtOrigin)) throw error;
    return { servers: [{ host: error.server, kind: 'origin', status: 404 }] };
  }
}

async function askDirectly(url: string, how: ObjectOptions): Promise<ServerFact[]> {
  const direct = await how.federation.locate(url, { ...how, direct: true }).catch(() => undefined);
  how.signal?.throwIfAborted();
  if (direct === undefined) return [];
  return await Promise.all(direct.servers.slice(0, 2).map((server) => askServer(direct, server, how)));
}

/** Many servers have no digest at hand: for a large object they would have to read it, so they are not asked. */
async function digestsAt(
  located: Located,
  server: ObjectServer,
  bytes = Infinity,
  how: ObjectOptions,
): Promise<NonNullable<ServerFact['digests']>> {
  if (bytes > maxDigestBytes) return {};
  const signal = AbortSignal.any([AbortSignal.timeout(digestMs), ...(how.signal ? [how.signal] : [])]);
  const digests = await askDigests(located, server, { ...how, signal }).catch(() => ({}));
  how.signal?.throwIfAborted();
  return digests;
}

/** Where an object is, in a line. */
export function describeServers({ servers }: Pick<ObjectFact, 'servers'>): string {
  const silent = servers.filter(({ status }) => status === undefined).length;
  const also = silent === 0 ? '' : `; ${silent} not answering`;
  const first = servers.find(({ status, bytes }) => status === 200 && bytes !== undefined);
  if (first === undefined)
    return `asked ${servers.length === 1 ? 'its server' : `${servers.length} servers`}${also}`;
  const size = formatSize(first.bytes ?? 0);
  if (first.kind === 'plain') return `${size} at ${first.host}${also}`;
  const origin = servers.some(({ kind, status }) => kind === 'origin' && status === 200);
  const caches = servers.filter(({ kind, status }) => kind === 'cache' && status !== undefined);
  return `${size}${origin ? ' at the origin' : ''}${describeCaches(caches)}${also}`;
}

function describeCaches(caches: readonly ServerFact[]): string {
  if (caches.length === 0) return '';
  const having = caches.filter(({ copy }) => copy === 'whole').map(({ host }) => host);
  const unknown = caches.filter(({ copy }) => copy === 'unknown').length;
  const of = `of ${counted(caches.length, 'cache')}`;
  const has =
    having.length === 0
      ? `none ${of} has it`
      : `${having.length} ${of} ${having.length === 1 ? 'has' : 'have'} it (${having.join(', ')})`;
  if (unknown === caches.length)
    return `; ${caches.length === 1 ? '1 cache does' : `${caches.length} caches do`} not say whether it is there`;
  return `; ${has}${unknown === 0 ? '' : `, ${unknown} ${unknown === 1 ? 'does' : 'do'} not say`}`;
}

/** The answer for a job that would have no token. */
export const withoutToken = (
  message: string,
  fix = 'name the token file in the job file: `token_file` in its table, or `image_token_file` for an image',
): ObjectAnswer => ({ servers: [], token: { problem: { message, fix } } });

/** When the token that would be sent expires, or why there is none; the token itself is not sent or printed. */
async function tokenOf(located: Located): Promise<Pick<TokenFact, 'expires' | 'problem'>> {
  const [server] = located.servers;
  if (server === undefined) return {};
  try {
    const { Authorization: header = '' } = await located.headers(server);
    const expires = readClaims(header.replace(/^Bearer /, ''))?.expires;
    return expires === undefined ? {} : { expires };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const { message, fix = '' } = error;
    return { problem: { message, fix } };
  }
}
