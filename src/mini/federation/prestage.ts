import type { CacheStore } from './cache-store.ts';
import type { Exchange } from './exchange.ts';
import { decodePath } from './namespace.ts';
import { checkAccess, UpstreamError } from './origin-client.ts';

export const prestagePath = '/pelican/api/v1.0/prestage';
const updateMs = 2000;
const pieceBytes = 256 * 1024;

/** Reads the object named by `path` into the cache and says, in lines, how far it is; 400 without `path`. */
export async function prestage(exchange: Exchange, store: CacheStore): Promise<void> {
  const { response, query, ground, signal } = exchange;
  const objectPath = decodePath(query.get('path') ?? '');
  if (objectPath === undefined) {
    const text = 'Prestage command request requires the `path` query parameter\n';
    response.writeHead(400, { 'Content-Type': 'text/plain; charset=utf-8' }).end(text);
    return;
  }
  checkAccess(exchange, objectPath);
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  const progress = { offset: 0 };
  const done = new AbortController();
  const ended = readIn(exchange, store, objectPath, progress).then(
    () => 'success: ok',
    (error: unknown) => `failure: ${describe(error)}`,
  );
  void ended.then(() => done.abort());
  for (;;) {
    const pause = ground.clock.sleep(updateMs, AbortSignal.any([done.signal, signal]));
    const line = await Promise.race([ended, pause.catch(() => ended)]);
    if (signal.aborted) return;
    response.write(`${line ?? `status: active,offset=${progress.offset}`}\n`);
    if (line === undefined) continue;
    response.end();
    return;
  }
}

async function readIn(
  { token }: Exchange,
  store: CacheStore,
  objectPath: string,
  progress: { offset: number },
): Promise<void> {
  const cached = await store.open(objectPath, token, 'stream');
  const fetchFrom = store.fetcher(objectPath, cached, token);
  const buffer = Buffer.allocUnsafe(pieceBytes);
  while (progress.offset < cached.facts.size)
    progress.offset += await cached.read(buffer, progress.offset, fetchFrom);
}

function describe(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof UpstreamError
    ? `${error.status}(${error.code}): ${message}`
    : `500(internal_error): ${message}`;
}
