import type { Redact } from '@updraft/base/secrets';
import { withDeadline, type ConnectionPool } from './connections.ts';
import {
  sendRequest,
  followRedirects,
  parseUrl,
  redactSent,
  requestHead,
  type HttpResponse,
} from './exchange.ts';
import type { Method } from './http-connection.ts';
import { NoAnswer, noAnswer } from './no-answer.ts';
import type { ResponseHead } from './response.ts';

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
  const redact = redactSent(headers);
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
