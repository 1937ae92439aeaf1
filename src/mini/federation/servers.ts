import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { CertificateAuthority } from '../../base/x509.ts';
import { makeCache } from './cache.ts';
import { CacheStore } from './cache-store.ts';
import { makeDirector } from './director.ts';
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

interface Cache {
  server: WebServer;
  store: CacheStore;
  stop(): Promise<void>;
}

/** Starts origin, issuers, caches and director, in the order in which they need each other's addresses. */
export async function startServers(
  ground: Ground,
  authority: CertificateAuthority,
  options: { folder: string; caches: number; http: boolean },
): Promise<Servers> {
  const { certificate: cert, key } = authority.issue(['localhost', loopback, '::1']);
  const origin = makeOrigin(ground, { cert, key });
  await origin.start();
  for (const namespace of ground.namespaces)
    if (!namespace.public || namespace.writable)
      namespace.issuer = new Issuer(origin.url + issuerPath(namespace.prefix), ground.clock);
  const parts: Cache[] = [];
  for (let number = 1; number <= options.caches; number += 1)
    parts.push(await startCache(`cache-${number}`, options.folder, ground, { cert, key }, origin));
  const caches = parts.map(({ server }) => server);
  const director = makeDirector(ground, { cert, key }, { origin, caches, http: options.http });
  await director.start();
  return {
    ...{ director, origin, caches, all: [director, origin, ...caches] },
    async evict(name, objectPath) {
      for (const { server, store } of parts) {
        if (name !== undefined && name !== server.name) continue;
        await (objectPath === undefined ? store.clear() : store.evict(objectPath));
      }
    },
    async stop() {
      await Promise.all([director.stop(), origin.stop(), ...parts.map((cache) => cache.stop())]);
    },
  };
}

async function startCache(
  name: string,
  folder: string,
  ground: Ground,
  tls: { cert: string; key: string },
  origin: WebServer,
): Promise<Cache> {
  const content = path.join(folder, name);
  await mkdir(content, { recursive: true });
  const client = new OriginClient(origin.httpUrl, ground.signal);
  const store = new CacheStore(content, client, ground.clock);
  const server = makeCache(name, ground, tls, { store, origin: client });
  await server.start();
  const stop = async (): Promise<void> => {
    await server.stop();
    client.close();
    await store.clear();
    await rm(content, { recursive: true, force: true });
  };
  return { server, store, stop };
}
