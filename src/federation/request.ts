import http from 'node:http';
import https from 'node:https';
import type { Clock } from '../base/clock.ts';
import { NoAnswer, noAnswer } from './no-answer.ts';
import { trustContext } from './trust.ts';

/** The verbs of Pelican's protocol that carry little. */
export interface ControlRequest {
  method: 'GET' | 'HEAD' | 'PUT' | 'PROPFIND' | 'OPTIONS';
  url: string;
  headers?: Record<string, string>;
  /** Longest wait for the answer's headers, once connected; some digests take minutes to compute. */
  headerMs?: number;
  /** Largest body to accept, in bytes. */
  maxBody?: number;
  /** How many redirects to follow; none unless asked. `Authorization` is left behind when the host changes. */
  redirects?: number;
  signal?: AbortSignal | undefined;
}

export interface ControlAnswer {
  status: number;
  /** Lower-case names; a header sent several times comes as one, joined by `, `. */
  headers: Record<string, string>;
  body: string;
  /** URL that answered in the end. */
  url: string;
}

/** Asks a server something small. Throws NoAnswer when there is no answer, never for its status. */
export type Request = (request: ControlRequest) => Promise<ControlAnswer>;

/** How requests reach servers: kept connections, trusted authorities, one clock. */
export interface Wire {
  clock: Clock;
  http: http.Agent;
  https: https.Agent;
}

const connectMs = 10_000;
const defaultHeaderMs = 20_000;
const bodyMs = 30_000;
const defaultMaxBody = 1 << 20;

/**
 * Connections straight to the servers. Proxy variables are not honoured: a proxy for https sees only a tunnel
 * and adds one more thing that can stall, and one for plain http may hand out another job's copy of an answer.
 */
export function createWire(clock: Clock, ca: string[] | undefined): Wire {
  const trust = ca === undefined ? {} : { secureContext: trustContext(ca) };
  return {
    clock,
    http: new http.Agent({ keepAlive: true }),
    // Said, so that no variable of the machine can unsay it: tokens go this way.
    https: new https.Agent({ keepAlive: true, rejectUnauthorized: true, ...trust }),
  };
}

export function createRequest(wire: Wire): Request {
  return async (request) => {
    let { url, headers = {} } = request;
    for (let left = request.redirects ?? 0; ; left--) {
      const answer = await once(wire, { ...request, url, headers });
      const target = left > 0 ? redirectTarget(answer) : undefined;
      if (target === undefined) return answer;
      headers = headersAcross(url, target, headers);
      url = target;
    }
  };
}

/** Where the answer sends us: never from https to plain http. */
export function redirectTarget(answer: {
  status: number;
  url: string;
  headers: Record<string, string>;
}): string | undefined {
  const location = answer.headers['location'];
  if (location === undefined || ![301, 302, 303, 307, 308].includes(answer.status)) return undefined;
  const target = URL.parse(location, answer.url);
  if (target === null || !['https:', 'http:'].includes(target.protocol)) return undefined;
  return answer.url.startsWith('https:') && target.protocol === 'http:' ? undefined : target.href;
}

/** The headers that may follow a redirect: a token stays with the host it was meant for. */
export function headersAcross(
  from: string,
  to: string,
  headers: Record<string, string>,
): Record<string, string> {
  if (new URL(from).origin === new URL(to).origin) return headers;
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'),
  );
}

async function once(wire: Wire, request: ControlRequest): Promise<ControlAnswer> {
  const { outgoing, answer } = openExchange(wire, request);
  outgoing.end();
  try {
    return await answer;
  } catch (error) {
    // The server closed a kept connection just as we used it again: that says nothing about the server.
    const stale = outgoing.reusedSocket && error instanceof NoAnswer && error.reason === 'reset';
    if (stale) return await once(wire, request);
    throw error;
  }
}

interface Exchange {
  outgoing: http.ClientRequest;
  answer: Promise<ControlAnswer>;
  /** Starts the wait for the answer's headers anew: while a body goes out, its progress counts. */
  alive: () => void;
}

/** One request under way, to be ended by the caller; every wait is bounded, and the signal ends it at once. */
export function openExchange(wire: Wire, request: ControlRequest): Exchange {
  const url = new URL(request.url);
  const secure = url.protocol === 'https:';
  const outgoing = (secure ? https : http).request(url, {
    method: request.method,
    headers: request.headers ?? {},
    agent: secure ? wire.https : wire.http,
  });
  const limit = timeLimit(wire.clock, (what) => outgoing.destroy(new NoAnswer('timeout', url.host, what)));
  const alive = (): void => limit.set(request.headerMs ?? defaultHeaderMs, 'sends no answer');
  const stop = (): void => void outgoing.destroy(new NoAnswer('network', url.host, 'was not waited for'));
  if (request.signal?.aborted === true) stop();
  request.signal?.addEventListener('abort', stop, { once: true });
  limit.set(connectMs, 'does not take the connection in time');
  outgoing.once('socket', (socket) => {
    if (!socket.connecting) alive();
    else socket.once(secure ? 'secureConnect' : 'connect', alive);
  });
  const answer = new Promise<ControlAnswer>((resolve, reject) => {
    // More than one error can come, when a body is still going out: only the first one is news.
    outgoing.on('error', reject);
    outgoing.once('response', (incoming) => {
      limit.set(bodyMs, 'stops in the middle of its answer');
      readAnswer(incoming, request).then(resolve, reject);
    });
  })
    .catch((error: unknown) => {
      outgoing.destroy();
      request.signal?.throwIfAborted();
      throw noAnswer(url.host, error);
    })
    .finally(() => {
      limit.end();
      request.signal?.removeEventListener('abort', stop);
    });
  return { outgoing, answer, alive };
}

async function readAnswer(incoming: http.IncomingMessage, request: ControlRequest): Promise<ControlAnswer> {
  const largest = request.maxBody ?? defaultMaxBody;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > largest)
      throw new NoAnswer(
        'garbage',
        new URL(request.url).host,
        `sends more than the ${largest} bytes such an answer can have`,
      );
  }
  return {
    status: incoming.statusCode ?? 0,
    headers: joined(incoming.headers),
    body: Buffer.concat(chunks).toString('utf8'),
    url: request.url,
  };
}

function joined(headers: http.IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}

/** One running time limit on the clock, replaced by the next, until it is ended. */
function timeLimit(
  clock: Clock,
  expire: (what: string) => void,
): { set(ms: number, what: string): void; end(): void } {
  let running = new AbortController();
  let isOver = false;
  const end = (): void => {
    isOver = true;
    running.abort();
  };
  const set = (ms: number, what: string): void => {
    // A body that is still going out after the answer came must not keep the process waiting.
    if (isOver) return;
    running.abort();
    running = new AbortController();
    clock.sleep(ms, running.signal).then(
      () => expire(what),
      () => undefined,
    );
  };
  return { set, end };
}
