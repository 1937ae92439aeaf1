import { createRedact, messageWithoutSecrets, type Redact } from '@updraft/base/secrets';
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
  const redact = redactSent(method === 'POST' ? {} : headers, url);
  try {
    return await withDeadline({ clock, signal, ms, timeoutError }, () =>
      connection.request(method, text, redact),
    );
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

let last: { key: string; redact: Redact } | undefined;

/** Removes the token of a request, and the secrets of its URL, from its answers, including those after a redirect. */
function redactSent(headers: Record<string, string>, url: URL): Redact {
  const name = Object.keys(headers).find((each) => each.toLowerCase() === 'authorization');
  const token = name === undefined ? '' : (headers[name] ?? '').replace(/^\w+\s+/, '');
  // Thousands of ranges of one object are requested with the same token.
  const key = token + url.search;
  if (last?.key === key) return last.redact;
  const shown = messageWithoutSecrets(url.href);
  // A shorter text would be found by chance.
  const signatures = url.search.split(/[?&=]/).filter((part) => part.length > 9 && !shown.includes(part));
  return (last = { key, redact: createRedact([token, ...signatures]) }).redact;
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

function parseUrl(text: string): URL {
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
async function followRedirects<A extends { head: ResponseHead }>(
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

/** The methods of Pelican's protocol with small bodies. */
export interface ControlRequest {
  method: Method;
  url: string;
  headers?: Record<string, string>;
  /** Sent with POST. */
  body?: string;
  /** Longest wait for the head of the answer, once connected; some digests take minutes to compute. */
  headerMs?: number;
  /** Largest body to accept, in bytes. */
  maxBody?: number;
  /** How many redirects to follow; 0 by default. */
  redirects?: number;
  signal?: AbortSignal | undefined;
}

export interface ControlAnswer {
  status: number;
  /** Names in lower case; repeated headers joined with `, `. */
  headers: Record<string, string>;
  body: string;
  /** The URL that answered, after redirects. */
  url: string;
}

/** Sends a small request. Throws NoAnswer if there is no answer; any status is an answer. */
export type Request = (request: ControlRequest) => Promise<ControlAnswer>;

const headMs = 20_000;
const bodyMs = 30_000;
const maxBody = 1 << 20;

export function createRequest(pool: ConnectionPool): Request {
  return async ({ method, url, redirects = 0, ...request }) => {
    const { headers = {}, body, headerMs = headMs, signal = new AbortController().signal } = request;
    const answer = await sendRequest(pool, {
      method,
      url,
      headers,
      body,
      headMs: headerMs,
      redirects,
      signal,
    });
    return controlAnswer(await readAnswer(pool, answer, signal, request.maxBody));
  };
}

interface ReadAnswer {
  head: ResponseHead;
  body: string;
  url: URL;
}

function controlAnswer({ head, body, url }: ReadAnswer): ControlAnswer {
  const headers = Object.fromEntries(head.headers);
  return { status: head.status, headers, body, url: url.href };
}

async function readAnswer(
  pool: ConnectionPool,
  { head, connection, url }: HttpResponse,
  signal: AbortSignal,
  maxBytes = maxBody,
): Promise<ReadAnswer> {
  const { clock } = pool;
  const timeoutError = () => new NoAnswer('timeout', url.host, 'stops in the middle of its answer');
  const chunks: Buffer[] = [];
  let length = 0;
  const take = (data: Buffer): void => {
    length += data.length;
    if (length > maxBytes) connection.destroy();
    else chunks.push(Buffer.from(data));
  };
  try {
    await withDeadline({ clock, signal, ms: bodyMs, timeoutError }, () => connection.body(take));
  } catch (error) {
    connection.destroy();
    signal.throwIfAborted();
    throw noAnswer(url.host, error);
  }
  if (length > maxBytes)
    throw new NoAnswer(
      'garbage',
      url.host,
      `sends more than ${maxBytes} bytes, the limit for such an answer`,
    );
  pool.release(url, connection);
  return { head, body: connection.redact(Buffer.concat(chunks).toString('utf8')), url };
}

interface Upload {
  url: string;
  headers: Record<string, string>;
  size: number;
  /** Yields the bytes from the first one on, each time it is called. */
  body: () => AsyncIterable<Buffer>;
  /** Longest wait for the server to accept the next bytes, and for its answer once it has all of them. */
  stallMs: number;
  redirects: number;
  signal?: AbortSignal | undefined;
}

/** PUTs a body, starting over after a redirect; stops sending as soon as the server answers. */
export async function upload(pool: ConnectionPool, request: Upload): Promise<ControlAnswer> {
  const headers = { ...request.headers, 'Content-Length': String(request.size) };
  const first = { url: parseUrl(request.url), headers };
  const signal = request.signal ?? new AbortController().signal;
  const redact = redactSent(headers, first.url);
  const answer = await followRedirects(first, request.redirects, (hop) =>
    uploadOnce(pool, { ...request, ...hop, signal }, redact),
  );
  return controlAnswer(answer);
}

async function uploadOnce(
  pool: ConnectionPool,
  { url, headers, size, body, stallMs: ms, signal }: Omit<Upload, 'url'> & { url: URL; signal: AbortSignal },
  redact: Redact,
): Promise<ReadAnswer> {
  const { clock } = pool;
  const timeoutError = () =>
    new NoAnswer('timeout', url.host, `accepts no bytes and sends no answer within ${ms / 1000} s`);
  const connection = pool.takeIdle(url) ?? (await pool.open(url, signal));
  try {
    const text = requestHead('PUT', url, headers);
    const answer = connection.request('PUT', text, redact).catch((error: unknown) => {
      throw noAnswer(url.host, error);
    });
    let [isAnswered, sent] = [false, 0];
    const stop = (): void => void (isAnswered = true);
    const answered = answer.then(stop, stop);
    for await (const chunk of body()) {
      signal.throwIfAborted();
      if (isAnswered) break;
      const taken = connection.send(chunk);
      if (taken !== undefined)
        await withDeadline({ clock, signal, ms, timeoutError }, () => Promise.race([taken, answered]));
      sent += chunk.length;
    }
    const head = await withDeadline({ clock, signal, ms, timeoutError }, () => answer);
    const read = await readAnswer(pool, { head, connection, url }, signal);
    // A connection with an incomplete body cannot be used again.
    if (sent < size) connection.destroy();
    return read;
  } catch (error) {
    connection.destroy();
    signal.throwIfAborted();
    throw error;
  }
}
