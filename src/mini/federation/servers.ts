import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { CertificateAuthority } from './x509.ts';
import { makeCache } from './cache.ts';
import { CacheStore } from './cache-store.ts';
import { makeDirector, type Place } from './director.ts';
import type { Ground } from './exchange.ts';
import { Issuer } from './issuer.ts';
import { issuerPath, makeOrigin } from './origin.ts';
import { OriginClient } from './origin-client.ts';
import { loopback, type WebServer } from './web-server.ts';

/** The running servers of one federation. */
export interface Servers {
  director: WebServer;
  origin: WebServer;
  caches: WebServer[];
  all: WebServer[];
  /** Makes one cache (or all) forget one object (or all). */
  evict(cache?: string, objectPath?: string): Promise<void>;
  stop(): Promise<void>;
}

/** Base URLs of servers that are not ours: a real origin and real caches of it. */
export interface OtherServers {
  origin: string;
  caches: string[];
}

interface Cache {
  server: WebServer;
  store: CacheStore;
}

/** Starts origin, issuers, caches and director, in the order in which they need each other's addresses. */
export async function startServers(
  ground: Ground,
  authority: CertificateAuthority,
  options: { folder: string; caches: number; http: boolean; servers?: OtherServers },
): Promise<Servers> {
  const { certificate: cert, key } = authority.issue(['localhost', loopback, '::1']);
  await using started = new AsyncDisposableStack();
  const start = async (server: WebServer): Promise<WebServer> => {
    started.defer(() => server.stop());
    await server.start();
    return server;
  };
  const origin = await start(makeOrigin(ground, { cert, key }));
  for (const namespace of ground.namespaces)
    if (!namespace.public || namespace.writable)
      namespace.issuer = new Issuer(origin.url + issuerPath(namespace.prefix), ground.clock);
  const parts: Cache[] = [];
  for (let number = 1; number <= options.caches; number += 1) {
    const cache = await makeStoringCache(
      `cache-${number}`,
      options.folder,
      { ground, cert, key, origin },
      started,
    );
    parts.push({ store: cache.store, server: await start(cache.server) });
  }
  const caches = parts.map(({ server }) => server);
  const named = options.servers === undefined ? { origin, caches } : placesOf(options.servers);
  const director = await start(makeDirector(ground, { cert, key }, { ...named, http: options.http }));
  const running = started.move();
  return {
    director,
    origin,
    caches,
    all: [director, origin, ...caches],
    async evict(name, objectPath) {
      for (const { server, store } of parts) {
        if (name !== undefined && name !== server.name) continue;
        await (objectPath === undefined ? store.clear() : store.evict(objectPath));
      }
    },
    stop: () => running.disposeAsync(),
  };
}

function placesOf({ origin, caches }: OtherServers): { origin: Place; caches: Place[] } {
  const place = (url: string): Place => ({ url, httpUrl: url });
  return { origin: place(origin), caches: caches.map(place) };
}

/** A cache and the folder it fills; the folder goes, after the server, when `started` ends. */
async function makeStoringCache(
  name: string,
  folder: string,
  { ground, cert, key, origin }: { ground: Ground; cert: string; key: string; origin: WebServer },
  started: AsyncDisposableStack,
): Promise<Cache> {
  const content = path.join(folder, name);
  await mkdir(content, { recursive: true });
  const client = new OriginClient(origin.httpUrl, ground.signal);
  const store = new CacheStore(content, client, ground.clock);
  started.defer(async () => {
    client.close();
    await store.clear();
    await rm(content, { recursive: true, force: true });
  });
  return { server: makeCache(name, ground, { cert, key }, { store, origin: client }), store };
}
