import { answerObject, answerTrouble } from './answer-object.ts';
import type { CachedObject, CacheStore } from './cache-store.ts';
import { answerError, type Exchange, type Ground, openExchange } from './exchange.ts';
import { denial, findNamespace } from './namespace.ts';
import { type OriginClient, UpstreamError } from './origin-client.ts';
import { answerPrestage, prestagePath } from './prestage.ts';
import { parseByteRange } from './send-body.ts';
import type { StoredObject } from './stored-object.ts';
import { WebServer } from './web-server.ts';

interface CacheParts {
  store: CacheStore;
  origin: OriginClient;
}

/** A cache: keeps what it once fetched from the origin and serves it as the origin would, with an Age. */
export function makeCache(
  name: string,
  ground: Ground,
  tls: { cert: string; key: string },
  parts: CacheParts,
): WebServer {
  const server: WebServer = new WebServer(name, tls, async (request, response) => {
    const exchange = openExchange(ground, server, request, response);
    if (exchange === undefined || (await answerTrouble(exchange))) return;
    if (exchange.method === 'OPTIONS') {
      response.writeHead(200, { Allow: 'OPTIONS, GET, HEAD, PROPFIND', DAV: '1', 'Content-Length': 0 }).end();
      return;
    }
    try {
      if (exchange.path === prestagePath) await answerPrestage(exchange, parts);
      else await answer(exchange, parts);
    } catch (error) {
      if (!(error instanceof UpstreamError) || response.headersSent) throw error;
      answerError(exchange, error.status, error.code, error.message);
    }
  });
  return server;
}

async function answer(exchange: Exchange, parts: CacheParts): Promise<void> {
  const { ground, method, path, token } = exchange;
  const namespace = findNamespace(ground.namespaces, path);
  if (namespace === undefined) throw new UpstreamError(404, 'not_found', `nothing is published at ${path}`);
  const reason = denial(namespace, path, 'read', token);
  if (reason !== undefined) throw new UpstreamError(403, 'authorization_denied', reason);
  if (method === 'PROPFIND') await answerProperties(exchange, parts.origin);
  else if (method === 'GET' || method === 'HEAD') await answerCached(exchange, parts);
  else answerError(exchange, 405, 'method_not_allowed', `${method} is not supported by a cache`);
}

async function answerCached(exchange: Exchange, { store, origin }: CacheParts): Promise<void> {
  const { request, path, token } = exchange;
  const { headers } = request;
  const cachedOnly =
    /only-if-cached/i.test(headers['cache-control'] ?? '') || headers['x-pelican-nodownload'] === 'true';
  const known = await store.peek(path);
  if (cachedOnly && known?.complete !== true)
    throw new UpstreamError(504, 'upstream_timeout', `${path} is not in this cache`);
  const waiting = openForReading(exchange, store);
  const object = await inTime(exchange, waiting);
  const digests = async (algorithms: string[]): Promise<string | undefined> => {
    const wanted = { 'Want-Digest': algorithms.join(',') };
    const { headers: told } = await origin.expect([200], 'HEAD', path, token, wanted);
    return [told['digest'] ?? []].flat()[0];
  };
  const fetchFrom = store.fetcher(path, object.cached, token);
  const stored: StoredObject = {
    ...object.cached.facts,
    age: ageOf(exchange, object.cached, object.hit),
    read: (buffer, position) => object.cached.read(buffer, position, fetchFrom),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  await answerObject(exchange, stored, digests);
}

/** The object with the first byte asked for in place, and whether that byte was here before the request. */
async function openForReading(
  exchange: Exchange,
  store: CacheStore,
): Promise<{ cached: CachedObject; hit: boolean }> {
  const { path, token, method, request } = exchange;
  const cached = await store.open(path, token);
  const range = parseByteRange(request.headers.range, cached.facts.size);
  if (range === 'beyond') return { cached, hit: true };
  const start = range?.start ?? 0;
  const hit = cached.has(start);
  if (method === 'GET') await cached.ensure(start, store.fetcher(path, cached, token)).catch(asUpstreamError);
  return { cached, hit };
}

function asUpstreamError(error: unknown): never {
  if (error instanceof UpstreamError) throw error;
  const detail = error instanceof Error ? error.message : 'the origin failed';
  throw new UpstreamError(502, 'upstream_connection_error', detail);
}

/** A client says how long it will wait for headers: the cache gives up a second earlier, but its fill goes on. */
async function inTime<T>({ ground, request, path, signal }: Exchange, work: Promise<T>): Promise<T> {
  const told = request.headers['x-pelican-timeout'];
  const patienceMs = typeof told === 'string' ? goDurationMs(told) : undefined;
  if (patienceMs === undefined) return work;
  work.catch(() => undefined);
  const done = new AbortController();
  const tooLate = ground.clock
    .sleep(Math.max(0, patienceMs - 1000), AbortSignal.any([done.signal, signal]))
    .then(() =>
      Promise.reject(new UpstreamError(504, 'upstream_timeout', `the origin has not yet sent ${path}`)),
    );
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    tooLate.catch(() => undefined);
    done.abort();
  }
}

/** Milliseconds of a duration as Go writes it: `9.5s`, `1m30s`, `500ms`; undefined if it is none. */
function goDurationMs(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|h|m|s))+$/.test(text)) return undefined;
  const units: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
  const parts = [...text.matchAll(/([\d.]+)(ms|h|m|s)/g)];
  return parts.reduce((sum, [, digits, unit]) => sum + Number(digits) * (units[unit ?? ''] ?? 0), 0);
}

/** Whole seconds, begun ones included: a hit must not read as the miss that 0 means. */
function ageOf({ ground }: Exchange, cached: CachedObject, hit: boolean): number {
  return hit ? Math.max(1, Math.ceil((ground.clock.now() - cached.since) / 1000)) : 0;
}

/** Properties of an object come from the origin; caches do not list folders. */
async function answerProperties(exchange: Exchange, origin: OriginClient): Promise<void> {
  const { path, token, response } = exchange;
  const upstream = await origin.expect([207], 'PROPFIND', path, token, { Depth: '0' });
  const parts: Buffer[] = [];
  for await (const part of upstream as AsyncIterable<Buffer>) parts.push(part);
  const text = Buffer.concat(parts);
  if (text.includes('<D:collection/>')) throw new UpstreamError(409, 'is_directory', `${path} is a folder`);
  response
    .writeHead(207, { 'Content-Type': 'application/xml; charset=utf-8', 'Content-Length': text.length })
    .end(text);
}
