import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { MiniFederation } from './federation.ts';
import { loopback } from './web-server.ts';

/** How another process of this user can steer a running federation. */
export interface AdminAccess {
  url: string;
  /** Secret; whoever knows it can make trouble and tokens. */
  key: string;
}

/** The steering door of one federation. */
export interface Admin extends AdminAccess {
  stop(): Promise<void>;
}

/** Opens the door on loopback, for those who show the key. */
export async function startAdmin(federation: MiniFederation): Promise<Admin> {
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

/** Asks a federation's admin door; throws with what the other side says is wrong. */
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
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  const body = JSON.parse(Buffer.concat(parts).toString() || '{}') as Record<string, unknown>;
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
    default:
      throw new Refusal(404, 'there is nothing to ask here');
  }
}

async function removeRule({ trouble }: MiniFederation, id: number): Promise<void> {
  if (!(await trouble.remove(id))) throw new Error(`there is no trouble number ${id}`);
}

/** Compares in a time that tells nothing about the key. */
function isKey(shown: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(shown), digest(expected));
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json', Connection: 'close' });
  response.end(JSON.stringify(body));
}
