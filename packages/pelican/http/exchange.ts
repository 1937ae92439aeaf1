import { createRedact, type Redact } from '@updraft/base/secrets';
import { withDeadline, type ConnectionPool } from './connections.ts';
import { Fault } from '../fault.ts';
import type { HttpConnection, Method } from './http-connection.ts';
import { NoAnswer, noAnswer } from './no-answer.ts';
import type { ResponseHead } from './response.ts';

export interface HttpRequest {
  method: Method;
  url: string;
  headers: Record<string, string>;
  /** Sent with POST. */
  body?: string | undefined;
  /** Longest wait for the head of the answer, once connected. */
  headMs: number;
  /** How many redirects to follow. */
  redirects?: number;
  signal: AbortSignal;
}

export interface HttpResponse {
  head: ResponseHead;
  /** Holds the body: read it and release the connection, or destroy it. */
  connection: HttpConnection;
  /** The URL that answered, after redirects. */
  url: URL;
}

/** Sends a request, follows redirects, and resolves with the head of the answer; throws NoAnswer. */
export async function sendRequest(pool: ConnectionPool, request: HttpRequest): Promise<HttpResponse> {
  const first = { url: parseUrl(request.url), headers: request.headers };
  return await followRedirects(
    first,
    request.redirects ?? 5,
    ({ url, headers }) => sendOnce(pool, request, url, requestText(request, url, headers)),
    ({ connection }) => connection.destroy(),
  );
}

function requestText({ method, body }: HttpRequest, url: URL, headers: Record<string, string>): string {
  if (body === undefined) return requestHead(method, url, headers);
  const length = { 'Content-Length': String(Buffer.byteLength(body)) };
  return requestHead(method, url, { ...headers, ...length }) + body;
}

async function sendOnce(
  pool: ConnectionPool,
  request: HttpRequest,
  url: URL,
  text: string,
): Promise<HttpResponse> {
  // A POST changes something on the server: do not risk sending it twice over an idle connection that just closed.
  const idle = request.method === 'POST' ? undefined : pool.takeIdle(url);
  if (idle !== undefined) {
    try {
      return { head: await headOf(pool, request, url, idle, text), connection: idle, url };
    } catch (error) {
      // A server may close an idle connection at any moment; that is not a failure.
      if (error instanceof NoAnswer || request.signal.aborted) throw error;
    }
  }
  const connection = await pool.open(url, request.signal);
  try {
    return { head: await headOf(pool, request, url, connection, text), connection, url };
  } catch (error) {
    request.signal.throwIfAborted();
    throw noAnswer(url.host, error);
  }
}

async function headOf(
  { clock }: ConnectionPool,
  { method, headers, headMs: ms, signal }: HttpRequest,
  url: URL,
  connection: HttpConnection,
  text: string,
): Promise<ResponseHead> {
  const timeoutError = () => new NoAnswer('timeout', url.host, `sends no answer within ${ms / 1000} s`);
  // The answer to a POST may be a new token: redacting the old one would damage whatever text they share.
  const redact = redactSent(method === 'POST' ? {} : headers);
  try {
    return await withDeadline({ clock, signal, ms, timeoutError }, () =>
      connection.request(method, text, redact),
    );
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

let last: { token: string; redact: Redact } | undefined;

/** Removes the token of a request from its answers, including those after a redirect. */
export function redactSent(headers: Record<string, string>): Redact {
  const name = Object.keys(headers).find((each) => each.toLowerCase() === 'authorization');
  const token = name === undefined ? '' : (headers[name] ?? '').replace(/^\w+\s+/, '');
  // Thousands of ranges of one object are requested with the same token.
  if (last?.token !== token) last = { token, redact: createRedact([token]) };
  return last.redact;
}

/** The text of a request head; refuses anything that could smuggle in a second line. */
export function requestHead(method: Method, url: URL, headers: Record<string, string>): string {
  const fields: Record<string, string> = {
    Host: url.host,
    'User-Agent': 'updraft',
    Accept: '*/*',
    ...headers,
  };
  const mayHaveBody = method === 'PUT' || method === 'PROPFIND';
  if (mayHaveBody) fields['Content-Length'] ??= '0';
  let text = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`;
  for (const [name, value] of Object.entries(fields)) {
    if (!/^[\w-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new Fault(
        'url-invalid',
        `request header ${JSON.stringify(name)} contains characters that may not be sent`,
      );
    text += `${name}: ${value}\r\n`;
  }
  return `${text}\r\n`;
}

export function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && ['http:', 'https:'].includes(url.protocol)) return url;
  const what = url === null ? 'not a URL' : 'neither http nor https';
  throw new Fault('url-invalid', `${what}: ${JSON.stringify(text.slice(0, 200))}`);
}

const statuses = new Set([301, 302, 303, 307, 308]);

interface Hop {
  url: URL;
  headers: Record<string, string>;
}

/**
 * Sends a request and follows at most `limit` redirects; with 0, a redirect is the answer. Never goes from https to
 * plain http, and sends `Authorization` only to the original host.
 */
export async function followRedirects<A extends { head: ResponseHead }>(
  first: Hop,
  limit: number,
  send: (hop: Hop) => Promise<A>,
  leave: (answer: A) => void = () => undefined,
): Promise<A> {
  let hop = first;
  for (let left = limit; ; left--) {
    const answer = await send(hop);
    const location = statuses.has(answer.head.status) ? answer.head.headers.get('location') : undefined;
    if (location === undefined || limit === 0) return answer;
    leave(answer);
    if (left === 0) throw new NoAnswer('redirects', first.url.host, `redirects more than ${limit} times`);
    hop = nextHop(hop, location);
  }
}

function nextHop({ url, headers }: Hop, location: string): Hop {
  const target = URL.parse(location, url.href);
  if (target === null || !['https:', 'http:'].includes(target.protocol))
    throw new NoAnswer('garbage', url.host, 'redirects to something that is not an http URL');
  if (url.protocol === 'https:' && target.protocol === 'http:')
    throw new NoAnswer('downgrade', url.host, `redirects from https to plain http at ${target.host}`);
  if (target.origin === url.origin) return { url: target, headers };
  const kept = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization');
  return { url: target, headers: Object.fromEntries(kept) };
}
