import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { answerObject, answerTrouble, parseByteRange } from './answer-object.ts';
import type { CachedObject, CacheStore } from './cache-store.ts';
import type { DigestName } from './digests.ts';
import {
  answerError,
  answerFolder,
  answerListed,
  answerText,
  type Exchange,
  type SharedContext,
  openExchange,
} from './exchange.ts';
import { readProperties, encodePath } from './namespace.ts';
import { checkAccess, type OriginClient, UpstreamError } from './origin-client.ts';
import { digestOf, type StoredObject, wantedDigests } from './stored-object.ts';
import { WebServer } from './web-server.ts';

interface CacheParts {
  store: CacheStore;
  origin: OriginClient;
  /** Where clients find the origin. */
  originUrl: string;
}

/** A cache: keeps what it fetched from the origin and serves it as the origin would, with an Age. */
export function makeCache(
  name: string,
  context: SharedContext,
  tls: { cert: string; key: string },
  parts: CacheParts,
): WebServer {
  const server: WebServer = new WebServer(name, tls, async (request, response) => {
    const exchange = openExchange(context, server, request, response);
    if (exchange === undefined || (await answerTrouble(exchange))) return;
    try {
      await answer(exchange, parts);
    } catch (error) {
      if (response.headersSent) throw error;
      if ((error as NodeJS.ErrnoException).code === 'EISDIR')
        await answerCachedFolder(exchange, parts.origin);
      else if (error instanceof UpstreamError) answerError(exchange, error.status, error.code, error.message);
      else throw error;
    }
  });
  return server;
}

async function answer(exchange: Exchange, parts: CacheParts): Promise<void> {
  const { method, path } = exchange;
  checkAccess(exchange, path);
  if (method === 'PROPFIND') await answerProperties(exchange, parts);
  else if (method === 'GET' || method === 'HEAD') await answerCached(exchange, parts);
  else answerError(exchange, 405, 'method_not_allowed', `${method} is not supported by a cache`);
}

async function answerCached(exchange: Exchange, { store, origin }: CacheParts): Promise<void> {
  const { request, path, token, method, context, response } = exchange;
  const { traits } = context;
  const known = await store.peek(path);
  const isOnlyCached = traits.onlyIfCached !== 'ignored' && asksOnlyCached(request);
  const hasIt = traits.onlyIfCached === 'known' ? known !== undefined : known?.completed !== undefined;
  if (isOnlyCached && !hasIt)
    throw new UpstreamError(504, 'upstream_timeout', `${path} is not in this cache`);
  if (method === 'HEAD' && traits.headComputes && (known === undefined || isOnlyCached)) {
    const headers = known === undefined ? await headOfMiss(exchange, origin) : {};
    response
      .writeHead(200, { 'Content-Length': known?.facts.size, 'Accept-Ranges': 'bytes', ...headers })
      .end();
    return;
  }
  const { cached, age } = await inTime(exchange, openForReading(exchange, store));
  const fetchFrom = store.fetcher(path, cached, token);
  const stored: StoredObject = {
    ...cached.facts,
    age,
    isCached: true,
    read: (buffer, position) => cached.read(buffer, position, fetchFrom),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const wanted = digestsAtCache(exchange, stored, cached);
  await answerObject(exchange, stored, wanted, (algorithms) =>
    traits.digest === 'complete'
      ? keptDigests(exchange, stored, cached, origin, algorithms)
      : digestsOfOrigin(exchange, origin, algorithms),
  );
}

const asksOnlyCached = ({ headers }: IncomingMessage): boolean =>
  /only-if-cached/i.test(headers['cache-control'] ?? '');

/** Which digests a Go cache requests from the origin once it has an object. */
const digestsOfFill: DigestName[] = ['md5', 'crc32c', 'sha'];

/**
 * Which digests an answer has. Once an object that came in one stream is complete, Go's cache adds the origin's digests
 * to every answer, and later its own from a scan; the others relay what the client asks for.
 */
function digestsAtCache(
  { context, method, request }: Exchange,
  { age, size }: StoredObject,
  cached: CachedObject,
): DigestName[] {
  const { digest, scanAfterMs, bigBytes } = context.traits;
  if (digest === 'complete') {
    if (age === undefined || cached.completed === undefined || cached.fill === 'blocks') return [];
    const isScanned = context.clock.now() - cached.completed >= scanAfterMs;
    return [...(size < bigBytes ? digestsOfFill : []), ...(isScanned ? (['sha-256'] as const) : [])];
  }
  const header = request.headers['want-digest'];
  if (digest === 'asked') return wantedDigests(header);
  return header === undefined || method !== 'HEAD' ? [] : [wantedDigests(header)[0] ?? 'crc32c'];
}

async function keptDigests(
  exchange: Exchange,
  stored: StoredObject,
  cached: CachedObject,
  origin: OriginClient,
  algorithms: DigestName[],
): Promise<string | undefined> {
  const ofFill = async (): Promise<string> =>
    (await digestsOfOrigin(exchange, origin, digestsOfFill).catch(() => undefined)) ?? '';
  const kept = [
    algorithms.includes('md5') ? await cached.once('of the origin', ofFill) : '',
    algorithms.includes('sha-256') ? await cached.once('scan', () => digestOf(stored, ['sha-256'])) : '',
  ];
  return kept.filter((each) => each !== '').join(', ') || undefined;
}

async function digestsOfOrigin(
  { path, token }: Exchange,
  origin: OriginClient,
  algorithms: string[],
): Promise<string | undefined> {
  const wanted = { 'Want-Digest': algorithms.join(',') };
  const { headers } = await origin.expect([200], 'HEAD', path, token, wanted);
  return [headers['digest'] ?? []].flat()[0];
}

/** A Go cache has the origin compute every digest it knows before it answers, or times out. */
async function headOfMiss(exchange: Exchange, origin: OriginClient): Promise<OutgoingHttpHeaders> {
  const { path, token, context, signal } = exchange;
  const { size, isFolder } = readProperties(await origin.properties(path, token, '0'));
  if (isFolder) throw Object.assign(new Error(`${path} is a folder`), { code: 'EISDIR' });
  if (size >= context.traits.bigBytes) {
    await context.clock.sleep(context.traits.headWaitMs, signal);
    throw new UpstreamError(504, 'upstream_timeout', 'upstream response timeout');
  }
  const digest = await digestsOfOrigin(exchange, origin, digestsOfFill);
  return {
    'Content-Length': size,
    'Cache-Control': 'no-cache, must-revalidate',
    ...(digest !== undefined && { Digest: digest }),
  };
}

/** The object with the first requested byte stored, and the Age of its answer. */
async function openForReading(
  exchange: Exchange,
  store: CacheStore,
): Promise<{ cached: CachedObject; age: number | undefined }> {
  const { path, token, method, request, context } = exchange;
  const isRange = request.headers.range !== undefined;
  const cached = await store.open(path, token, isRange ? context.traits.rangeOfMiss : 'stream');
  const range = parseByteRange(request.headers.range, cached.facts.size);
  const start = range === 'beyond' ? cached.facts.size : (range?.start ?? 0);
  const hit = cached.has(start);
  const age = ageOf(exchange, cached, hit);
  if (method === 'GET') await cached.ensure(start, store.fetcher(path, cached, token)).catch(asUpstreamError);
  const isInline = cached.facts.size <= context.traits.inlineBytes;
  return { cached, age: isInline ? ageOf(exchange, cached, hit) : age };
}

function asUpstreamError(error: unknown): never {
  if (error instanceof UpstreamError) throw error;
  const detail = error instanceof Error ? error.message : 'the origin failed';
  throw new UpstreamError(502, 'upstream_connection_error', detail);
}

/** A client says how long it waits for headers: the cache gives up a second earlier, but its fill continues. */
async function inTime<T>({ context, request, path, signal }: Exchange, work: Promise<T>): Promise<T> {
  const reported = request.headers['x-pelican-timeout'];
  const timeoutMs = typeof reported === 'string' ? durationMs(reported) : undefined;
  if (timeoutMs === undefined) return work;
  work.catch(() => undefined);
  const done = new AbortController();
  const tooLate = context.clock
    .sleep(Math.max(0, timeoutMs - 1000), AbortSignal.any([done.signal, signal]))
    .then(() =>
      Promise.reject(new UpstreamError(504, 'upstream_timeout', `the origin has not sent ${path}`)),
    );
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    tooLate.catch(() => undefined);
    done.abort();
  }
}

/** Milliseconds of a duration as clients send it: `9.5s`; undefined if malformed. */
function durationMs(text: string): number | undefined {
  const seconds = /^(\d+(?:\.\d+)?)s$/.exec(text)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/** Whole seconds. Rounded up in plain mode and for XRootD: an Age of 0 means a miss. */
function ageOf(
  { context, request, method }: Exchange,
  cached: CachedObject,
  hit: boolean,
): number | undefined {
  const { clock, traits } = context;
  const seconds = (since: number): number => (clock.now() - since) / 1000;
  const age = Math.max(1, Math.ceil(seconds(cached.since)));
  if (traits.age === 'all') return hit ? age : 0;
  if (cached.completed === undefined) return undefined;
  if (traits.age === 'complete') return Math.floor(seconds(cached.completed));
  return method === 'GET' && request.headers.range === undefined ? age : undefined;
}

/** Relays the origin's properties; Go's and XRootD's caches describe their own copies, XRootD's with their own time. */
async function answerProperties(exchange: Exchange, parts: CacheParts): Promise<void> {
  const { path, token, context, request, response } = exchange;
  const { folderAtCache, validators } = context.traits;
  const depth = String(request.headers['depth'] ?? '1');
  const known = folderAtCache === 'refused' ? undefined : await parts.store.peek(path);
  if (known !== undefined && depth !== '1') {
    const { size, etag, modified } = known.facts;
    const own =
      validators === 'none' ? { modified: new Date(known.since), etag: undefined } : { modified, etag };
    answerListed(exchange, [{ objectPath: path, isFolder: false, size, ...own }]);
    return;
  }
  if (folderAtCache === 'redirected') {
    response.writeHead(307, { Location: parts.originUrl + encodePath(path), 'Content-Length': 0 }).end();
    return;
  }
  const mayList = mayAnswerFolder(exchange);
  const text = await parts.origin.properties(path, token, mayList ? depth : '0');
  if (!mayList && readProperties(text).isFolder)
    throw new UpstreamError(409, 'conflict', `${path} is a collection`);
  answerText(exchange, 207, text, { 'Content-Type': 'application/xml; charset=utf-8' });
}

/** GET of a folder at a cache that has learned from the origin that it is one. */
async function answerCachedFolder(exchange: Exchange, origin: OriginClient): Promise<void> {
  const { path, token } = exchange;
  if (mayAnswerFolder(exchange)) await answerFolder(exchange, () => origin.page(path, token));
  else answerError(exchange, 409, 'conflict', `Unable to open ${path}; it is a directory`);
}

function mayAnswerFolder({ context, server }: Exchange): boolean {
  const { folderAtCache } = context.traits;
  return folderAtCache === 'redirected' || (folderAtCache === 'mixed' && /[13579]$/.test(server.name));
}
