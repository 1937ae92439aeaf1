import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { readJsonFile } from '@updraft/base';
import { identifyProcess, livenessOf, type ProcessIdentity } from '@updraft/base/processes';
import { replaceFile } from '@updraft/base/disk';
import {
  type Addresses,
  type FederationOptions,
  type MiniFederation,
  startFederation,
} from './federation.ts';
import type { ServerModel } from './server-traits.ts';
import { loopback } from './web-server.ts';

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
export interface SharedFederation {
  state: FederationState;
  stop(): Promise<void>;
}

const stateFile = (folder: string): string => path.join(folder, 'federation.json');

/** The federation of this state folder, if its process is alive. */
export async function findFederation(folder: string): Promise<FederationState | undefined> {
  const state = await readJsonFile<FederationState>(stateFile(folder));
  return state !== undefined && livenessOf(state.process) === 'alive' ? state : undefined;
}

/** Starts a federation in this process and publishes its state in the folder, with a token file per protected namespace. */
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
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
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
