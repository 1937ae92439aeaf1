import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Clock, systemClock, readJsonFile, defined } from '@updraft/base';
import { removeTree, replaceFile } from '@updraft/base/disk';
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { identifyProcess, livenessOf, type ProcessIdentity } from '@updraft/base/processes';
import { CacheStore } from './cache-store.ts';
import { makeCache } from './cache.ts';
import { makeDirector, type ServerUrls } from './director.ts';
import { Counters, type SharedContext } from './exchange.ts';
import type { DeviceFlow } from './device-flow.ts';
import { Issuer, type TokenOptions } from './issuer.ts';
import { type ServerModel, type Traits, traitsOf } from './server-traits.ts';
import { issuerPath, type Namespace, type NamespaceOptions, normalisePrefix } from './namespace.ts';
import { OriginClient } from './origin-client.ts';
import { makeOrigin } from './origin.ts';
import { Trouble } from './trouble.ts';
import { loopback, type WebServer } from './web-server.ts';
import { type CertificateAuthority, makeCertificateAuthority } from './x509.ts';

export interface FederationOptions {
  namespaces: NamespaceOptions[];
  /** Number of caches; 2 by default. */
  caches?: number;
  /** The director names these servers instead of the federation's own. */
  servers?: OtherServers;
  /** Let the director use http addresses for public objects. Discovery and director stay on https. */
  http?: boolean;
  /** Imitate these servers, with all their peculiarities. */
  like?: ServerModel | undefined;
  /** Overrides single traits, for instance to spare a test a wait. */
  traits?: Partial<Traits>;
  /** Folder for the CA and the caches' content; by default a temporary one, removed at the end. */
  folder?: string;
  clock?: Clock;
}

/** Addresses of one server: the same objects over both. */
export interface ServerAddress {
  name: string;
  url: string;
  httpUrl: string;
}

/** The addresses of all servers; they do not change until stop. */
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
  /** PEM file of the CA that signs all its certificates. */
  caFile: string;
  /** A token for a namespace (by default the first with an issuer), to read and, where allowed, write everything. */
  issueToken(options?: TokenOptions & { namespace?: string }): string;
  /** Logins at a namespace's issuer (by default the first). */
  logins(namespace?: string): DeviceFlow;
  /** Approves or denies the pending login with this code, at any issuer; throws if there is none. */
  decideLogin(userCode: string, verdict: 'approved' | 'denied'): void;
  /** Makes a cache forget an object, or all caches all objects. */
  evict(cache?: string, objectPath?: string): Promise<void>;
  trouble: Trouble;
  counters: Counters;
  stop(): Promise<void>;
}

/** Starts discovery, director, origin and caches on free loopback ports. */
export async function startFederation(options: FederationOptions): Promise<MiniFederation> {
  const clock = options.clock ?? systemClock;
  const namespaces = await readNamespaces(options.namespaces);
  await using started = new AsyncDisposableStack();
  const folder = await makeFolder(options.folder, started);
  const halt = new AbortController();
  const byName = new Map<string, WebServer>();
  const context: SharedContext = {
    clock,
    namespaces,
    counters: new Counters(),
    traits: traitsOf(options.like, options.traits),
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
  const servers = await startServers(context, authority, { folder, caches: 2, http: false, ...options });
  for (const server of servers.all) byName.set(server.name, server);
  started.defer(() => context.trouble.clear());
  started.defer(() => servers.stop());
  started.defer(() => halt.abort(new Error('the federation stops')));
  const running = started.move();
  let ending: Promise<void> | undefined;
  const stop = (): Promise<void> => (ending ??= running.disposeAsync());
  return {
    ...addressesOf(servers),
    caFile,
    issueToken: ({ namespace, ...token } = {}) => issueToken(namespaces, namespace, token),
    logins: (namespace) => issuing(namespaces, namespace).issuer.device,
    decideLogin(userCode, verdict) {
      if (!namespaces.some(({ issuer }) => issuer?.device.decide(userCode, verdict)))
        throw new Error(`no pending login has the code ${userCode}`);
    },
    evict: (cache, objectPath) => servers.evict(cache, objectPath),
    trouble: context.trouble,
    counters: context.counters,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The user's folder, or a temporary one that is removed with `started`. */
async function makeFolder(given: string | undefined, started: AsyncDisposableStack): Promise<string> {
  const folder = given ?? (await mkdtemp(path.join(os.tmpdir(), 'mini-federation-')));
  if (given === undefined) started.defer(() => rm(folder, { recursive: true, force: true }));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

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
  const { issuer, writable } = issuing(namespaces, asked);
  const scope = writable ? 'storage.read:/ storage.create:/ storage.modify:/' : 'storage.read:/';
  return issuer.issue({ scope, ...options });
}

function issuing(namespaces: Namespace[], asked: string | undefined): Namespace & { issuer: Issuer } {
  const prefix = asked === undefined ? undefined : normalisePrefix(asked);
  for (const each of namespaces)
    if (each.issuer !== undefined && (prefix === undefined || each.prefix === prefix))
      return { ...each, issuer: each.issuer };
  throw new Error(`no tokens are issued for ${prefix ?? 'any namespace here'}`);
}

const addressOf = ({ name, url, httpUrl }: WebServer): ServerAddress => ({ name, url, httpUrl });

/** The running servers of one federation. */
interface Servers {
  director: WebServer;
  origin: WebServer;
  caches: WebServer[];
  all: WebServer[];
  /** Makes one cache (or all) forget one object (or all). */
  evict(cache?: string, objectPath?: string): Promise<void>;
  stop(): Promise<void>;
}

/** Base URLs of external servers: a real origin and its caches. */
interface OtherServers {
  origin: string;
  caches: string[];
}

interface Cache {
  server: WebServer;
  store: CacheStore;
}

/** Starts origin, issuers, caches and director, in the order in which they need each other's addresses. */
async function startServers(
  context: SharedContext,
  authority: CertificateAuthority,
  options: { folder: string; caches: number; http: boolean; servers?: OtherServers },
): Promise<Servers> {
  const { certificate: cert, key } = authority.issue(['localhost', loopback]);
  await using started = new AsyncDisposableStack();
  const start = async (server: WebServer): Promise<WebServer> => {
    started.defer(() => server.stop());
    await server.start();
    return server;
  };
  const origin = await start(makeOrigin(context, { cert, key }));
  for (const namespace of context.namespaces)
    if (!namespace.public || namespace.writable)
      namespace.issuer = new Issuer(origin.url + issuerPath(namespace.prefix), context.clock);
  const parts: Cache[] = [];
  for (let number = 1; number <= options.caches; number += 1) {
    const cache = await makeStoringCache(
      `cache-${number}`,
      options.folder,
      { context, cert, key, origin },
      started,
    );
    parts.push({ store: cache.store, server: await start(cache.server) });
  }
  const caches = parts.map(({ server }) => server);
  const named = options.servers === undefined ? { origin, caches } : placesOf(options.servers);
  const director = await start(makeDirector(context, { cert, key }, { ...named, http: options.http }));
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

function placesOf({ origin, caches }: OtherServers): { origin: ServerUrls; caches: ServerUrls[] } {
  const place = (url: string): ServerUrls => ({ url, httpUrl: url });
  return { origin: place(origin), caches: caches.map(place) };
}

/** A cache and its folder; the folder is removed with `started`, after the server has stopped. */
async function makeStoringCache(
  name: string,
  folder: string,
  { context, cert, key, origin }: { context: SharedContext; cert: string; key: string; origin: WebServer },
  started: AsyncDisposableStack,
): Promise<Cache> {
  const content = path.join(folder, name);
  await mkdir(content, { recursive: true });
  const client = new OriginClient(origin.httpUrl, context.signal);
  const store = new CacheStore(content, client, context);
  started.defer(async () => {
    client.close();
    await store.clear();
    await removeTree(content);
  });
  const parts = { store, origin: client, originUrl: origin.url };
  return { server: makeCache(name, context, { cert, key }, parts), store };
}

/** What a running federation leaves in its state folder for other commands; readable only by its user. */
export interface FederationState extends Addresses {
  process: ProcessIdentity;
  caFile: string;
  namespaces: { prefix: string; folder: string; public: boolean; writable: boolean; tokenFile?: string }[];
  admin: AdminAccess;
  /** The servers that it imitates. */
  like?: ServerModel;
}

/** A federation that other processes find by its state folder. */
interface SharedFederation {
  state: FederationState;
  stop(): Promise<void>;
}

const stateFile = (folder: string): string => path.join(folder, 'federation.json');

/** The federation of this state folder, if its process is alive. */
export async function findFederation(folder: string): Promise<FederationState | undefined> {
  const state = await readJsonFile<FederationState>(stateFile(folder));
  return state !== undefined && livenessOf(state.process) === 'alive' ? state : undefined;
}

/** Starts a federation in this process and publishes its state in the folder, with a token per protected namespace. */
export async function startSharedFederation(
  folder: string,
  pid: number,
  options: FederationOptions & { trouble: string[] },
): Promise<SharedFederation> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await using started = new AsyncDisposableStack();
  const federation = started.use(await startFederation({ ...options, folder }));
  for (const rule of options.trouble) await federation.trouble.add(rule);
  const admin = await startAdmin(federation);
  started.defer(() => admin.stop());
  const namespaces = await Promise.all(
    options.namespaces.map((each) => writeToken(folder, federation, each)),
  );
  const { discoveryHost, discoveryUrl, caFile, director, origin, caches } = federation;
  const state: FederationState = {
    process: identifyProcess(pid) ?? { pid, start: '', host: '' },
    discoveryHost,
    discoveryUrl,
    caFile,
    director,
    origin,
    caches,
    namespaces,
    admin: { url: admin.url, key: admin.key },
    ...(options.like && { like: options.like }),
  };
  const tokens = namespaces.flatMap(({ tokenFile }) => tokenFile ?? []);
  started.defer(() => removeAll([stateFile(folder), caFile, ...tokens]));
  await writeSecret(stateFile(folder), `${JSON.stringify(state, undefined, 2)}\n`);
  const running = started.move();
  return { state, stop: () => running.disposeAsync() };
}

async function removeAll(files: string[]): Promise<void> {
  for (const file of files) await rm(file, { force: true });
}

async function writeToken(
  folder: string,
  federation: MiniFederation,
  { prefix, folder: published, ...each }: FederationOptions['namespaces'][number],
): Promise<FederationState['namespaces'][number]> {
  const shown = { prefix, folder: published, public: each.public, writable: each.writable === true };
  if (shown.public && !shown.writable) return shown;
  const tokenFile = path.join(folder, `token${prefix.replaceAll('/', '-')}`);
  await writeSecret(
    tokenFile,
    `${federation.issueToken({ namespace: prefix, expiresInSeconds: 7 * 24 * 3600 })}\n`,
  );
  return { ...shown, tokenFile };
}

const writeSecret = (file: string, text: string): Promise<void> => replaceFile(file, text, { mode: 0o600 });

/** How another process of this user controls a running federation. */
interface AdminAccess {
  url: string;
  /** Secret: permits adding trouble and issuing tokens. */
  key: string;
}

/** Starts the control server of one federation on loopback; every request needs the key. */
export async function startAdmin(
  federation: MiniFederation,
): Promise<AdminAccess & { stop(): Promise<void> }> {
  const key = randomBytes(24).toString('base64url');
  const server = http.createServer((request, response) => {
    answer(federation, request, key).then(
      (body) => send(response, 200, body),
      (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        send(response, error instanceof Refusal ? error.status : 400, { error: message });
      },
    );
  });
  server.listen(0, loopback);
  await once(server, 'listening');
  return {
    url: `http://${loopback}:${(server.address() as AddressInfo).port}`,
    key,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Sends a request to the control server; throws its error message. */
export async function askAdmin(
  access: AdminAccess,
  method: string,
  where: string,
  body?: object,
): Promise<unknown> {
  const answered = await fetch(access.url + where, {
    method,
    headers: { Authorization: `Bearer ${access.key}` },
    ...defined({ body: body && JSON.stringify(body) }),
  });
  const value = (await answered.json()) as { error?: string };
  if (!answered.ok) throw new Error(value.error ?? `the federation answered ${answered.status}`);
  return value;
}

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function answer(federation: MiniFederation, request: IncomingMessage, key: string): Promise<object> {
  if (!isKey(request.headers.authorization ?? '', `Bearer ${key}`))
    throw new Refusal(401, 'the key is wrong');
  const body = JSON.parse((await text(request)) || '{}') as Record<string, unknown>;
  const { trouble, counters } = federation;
  switch (`${request.method ?? ''} ${request.url ?? ''}`) {
    case 'GET /status':
      return { trouble: trouble.list(), counters: counters.snapshot() };
    case 'POST /trouble':
      return { id: await trouble.add(String(body['rule'])), trouble: trouble.list() };
    case 'DELETE /trouble':
      await (typeof body['id'] === 'number' ? removeRule(federation, body['id']) : trouble.clear());
      return { trouble: trouble.list() };
    case 'POST /token':
      return { token: federation.issueToken(body) };
    case 'POST /login':
      federation.decideLogin(String(body['code']), body['deny'] === true ? 'denied' : 'approved');
      return {};
    default:
      throw new Refusal(404, 'unknown route');
  }
}

async function removeRule({ trouble }: MiniFederation, id: number): Promise<void> {
  if (!(await trouble.remove(id))) throw new Error(`there is no trouble rule ${id}`);
}

/** Compares in constant time, to reveal nothing about the key. */
function isKey(shown: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(shown), digest(expected));
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json', Connection: 'close' });
  response.end(JSON.stringify(body));
}
