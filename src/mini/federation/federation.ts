import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { systemClock, type Clock } from '../../base/clock.ts';
import { makeCertificateAuthority } from './x509.ts';
import { Counters } from './counters.ts';
import type { Ground } from './exchange.ts';
import type { TokenOptions } from './issuer.ts';
import { normalisePrefix, type Namespace, type NamespaceOptions } from './namespace.ts';
import { startServers, type OtherServers, type Servers } from './servers.ts';
import { Trouble } from './trouble.ts';
import type { WebServer } from './web-server.ts';

export interface FederationOptions {
  namespaces: NamespaceOptions[];
  /** How many; 2 if not said. */
  caches?: number;
  /** The director names these servers instead of the federation's own. */
  servers?: OtherServers;
  /** Let the director name public objects by http addresses. Discovery and director stay on https. */
  http?: boolean;
  /** Folder for the CA and the caches' content; a temporary one, removed at the end, if not said. */
  folder?: string;
  clock?: Clock;
}

/** Addresses of one server: the same objects over both. */
export interface ServerAddress {
  name: string;
  url: string;
  httpUrl: string;
}

/** Where everything is, from start to stop. */
export interface Addresses {
  /** `host:port`, as in `pelican://HOST/demo/object` and in UPDRAFT_OSDF_HOST. */
  discoveryHost: string;
  discoveryUrl: string;
  director: ServerAddress;
  origin: ServerAddress;
  caches: ServerAddress[];
}

/** A running federation on this machine's loopback. */
export interface MiniFederation extends Addresses, AsyncDisposable {
  /** PEM file of the authority that all its certificates come from. */
  caFile: string;
  /** A token for a namespace (the first that has an issuer, if not said): may read all, and write where one can. */
  issueToken(options?: TokenOptions & { namespace?: string }): string;
  /** Makes a cache forget an object, or all caches all objects. */
  evict(cache?: string, objectPath?: string): Promise<void>;
  trouble: Trouble;
  counters: Counters;
  stop(): Promise<void>;
}

/** Starts discovery, director, origin and caches on free ports of loopback. */
export async function startFederation(options: FederationOptions): Promise<MiniFederation> {
  const clock = options.clock ?? systemClock;
  const namespaces = await readNamespaces(options.namespaces);
  await using started = new AsyncDisposableStack();
  const folder = await makeFolder(options.folder, started);
  const halt = new AbortController();
  const byName = new Map<string, WebServer>();
  const ground: Ground = {
    clock,
    namespaces,
    counters: new Counters(),
    signal: halt.signal,
    trouble: new Trouble(
      clock,
      () => [...byName.keys()],
      async (name, down) => byName.get(name)?.setDown(down),
    ),
  };
  const authority = makeCertificateAuthority('Mini federation CA', clock.now());
  const caFile = path.join(folder, 'ca.pem');
  await writeFile(caFile, authority.certificate);
  const servers = await startServers(ground, authority, { folder, caches: 2, http: false, ...options });
  for (const server of servers.all) byName.set(server.name, server);
  started.defer(() => ground.trouble.clear());
  started.defer(() => servers.stop());
  started.defer(() => halt.abort(new Error('the federation stops')));
  const running = started.move();
  let ending: Promise<void> | undefined;
  const stop = (): Promise<void> => (ending ??= running.disposeAsync());
  return {
    ...addressesOf(servers),
    caFile,
    issueToken: ({ namespace, ...token } = {}) => issueToken(namespaces, namespace, token),
    evict: (cache, objectPath) => servers.evict(cache, objectPath),
    trouble: ground.trouble,
    counters: ground.counters,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The user's folder, or a temporary one that goes when `started` ends. */
async function makeFolder(given: string | undefined, started: AsyncDisposableStack): Promise<string> {
  const folder = given ?? (await mkdtemp(path.join(os.tmpdir(), 'mini-federation-')));
  if (given === undefined) started.defer(() => rm(folder, { recursive: true, force: true }));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** What can be said of the servers once they run; their addresses never change. */
function addressesOf(servers: Servers): Addresses {
  const { director, origin, caches } = servers;
  return {
    discoveryHost: new URL(director.url).host,
    discoveryUrl: director.url,
    director: addressOf(director),
    origin: addressOf(origin),
    caches: caches.map(addressOf),
  };
}

async function readNamespaces(options: NamespaceOptions[]): Promise<Namespace[]> {
  return Promise.all(
    options.map(async (each) => {
      const folder = path.resolve(each.folder);
      const info = await stat(folder).catch(() => undefined);
      if (info?.isDirectory() !== true)
        throw new Error(`${each.folder} cannot be published: it is not a folder`);
      return {
        prefix: normalisePrefix(each.prefix),
        folder,
        public: each.public,
        issuer: undefined,
        writable: each.writable === true,
        listings: each.listings !== false,
      };
    }),
  );
}

function issueToken(namespaces: Namespace[], asked: string | undefined, options: TokenOptions): string {
  const prefix = asked === undefined ? undefined : normalisePrefix(asked);
  const found = namespaces.find(
    (each) => each.issuer !== undefined && (prefix === undefined || each.prefix === prefix),
  );
  if (found?.issuer === undefined)
    throw new Error(`no tokens are issued for ${prefix ?? 'any namespace here'}`);
  const scope = found.writable ? 'storage.read:/ storage.create:/ storage.modify:/' : 'storage.read:/';
  return found.issuer.issue({ scope, ...options });
}

function addressOf({ name, url, httpUrl }: WebServer): ServerAddress {
  return { name, url, httpUrl };
}
