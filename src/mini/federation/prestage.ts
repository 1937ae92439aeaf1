import type { CacheStore } from './cache-store.ts';
import { answerError, type Exchange } from './exchange.ts';
import { decodePath, denial, findNamespace } from './namespace.ts';

export const prestagePath = '/pelican/api/v1.0/prestage';

const lineEveryBytes = 1 << 20;
const pieceBytes = 256 * 1024;

/** Fills the cache with one object and sends a line now and then about how far it is, as Pelican's caches do. */
export async function answerPrestage(exchange: Exchange, { store }: { store: CacheStore }): Promise<void> {
  const { ground, query, token, response, signal } = exchange;
  const asked = query.get('path');
  const path = asked === null ? undefined : decodePath(asked.replaceAll('+', ' '));
  if (path === undefined) {
    response.writeHead(400, { 'Content-Type': 'text/plain' });
    response.end('Prestage command request requires the `path` query parameter\n');
    return;
  }
  const namespace = findNamespace(ground.namespaces, path);
  if (namespace === undefined || denial(namespace, path, 'read', token) !== undefined) {
    answerError(exchange, 403, 'authorization_denied', 'Permission denied to prestage path');
    return;
  }
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  response.write('status: queued\n');
  try {
    const cached = await store.open(path, token, 'stream');
    const fetchFrom = store.fetcher(path, cached, token);
    const buffer = Buffer.allocUnsafe(pieceBytes);
    for (let offset = 0, said = 0; offset < cached.facts.size;) {
      signal.throwIfAborted();
      offset += await cached.read(buffer, offset, fetchFrom);
      if (offset < said + lineEveryBytes) continue;
      response.write(`status: active,offset=${offset}\n`);
      said = offset;
    }
    response.end('success: ok\n');
  } catch (error) {
    response.end(`failure: 500(Internal Server Error): ${(error as Error).message}\n`);
  }
}
