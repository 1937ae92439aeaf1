import type { Clock } from '../../base/clock.ts';
import { orAborted } from '../../base/or-aborted.ts';
import { asFault, Fault } from '../../fault/fault.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { withDeadline } from '../engine/deadline.ts';
import type { HttpConnection } from './http-connection.ts';
import type { ResponseHead } from './response-head.ts';

export interface ObjectRequest {
  method: 'GET' | 'HEAD';
  url: string;
  /** What any server may see: range, validators. */
  headers: Record<string, string>;
  /** What only the named server's own host may see: the token. */
  privateHeaders: Record<string, string>;
  headMs: number;
  signal: AbortSignal;
}

export interface Answer {
  head: ResponseHead;
  connection: HttpConnection;
  /** Where the answer came from, after redirects. */
  url: URL;
}

const maximumRedirects = 5;
const redirects = new Set([301, 302, 303, 307, 308]);

/** Sends a request, follows redirects, and resolves when the head of the answer is there. */
export async function requestObject(
  pool: ConnectionPool,
  clock: Clock,
  request: ObjectRequest,
): Promise<Answer> {
  const named = parseUrl(request.url);
  let url = named;
  for (let hop = 0; hop <= maximumRedirects; hop++) {
    const headers =
      url.origin === named.origin ? { ...request.headers, ...request.privateHeaders } : request.headers;
    const answer = await requestOnce(pool, clock, request, url, headers);
    const location = answer.head.headers.get('location');
    if (!redirects.has(answer.head.status) || location === undefined) return answer;
    answer.connection.destroy();
    url = parseUrl(location, url);
    if (named.protocol === 'https:' && url.protocol !== 'https:')
      throw new Fault('data-wrong', `${named.host}: redirects from https to plain http at ${url.host}`);
  }
  throw new Fault('transfer-failed', `${named.host}: more than ${maximumRedirects} redirects`);
}

async function requestOnce(
  pool: ConnectionPool,
  clock: Clock,
  request: ObjectRequest,
  url: URL,
  headers: Record<string, string>,
): Promise<Answer> {
  const text = requestHead(request.method, url, headers);
  const idle = pool.takeIdle(url);
  if (idle !== undefined) {
    try {
      return { head: await ask(clock, request, url, idle, text), connection: idle, url };
    } catch (error) {
      // A server may close an idle connection at any moment: that says nothing about it.
      if (error instanceof Fault || request.signal.aborted) throw error;
    }
  }
  const connection = await pool.open(url, request.signal);
  try {
    return { head: await ask(clock, request, url, connection, text), connection, url };
  } catch (error) {
    if (error instanceof Fault || request.signal.aborted) throw error;
    throw new Fault('transfer-failed', `${url.host}: ${(error as Error).message}`, { cause: error });
  }
}

async function ask(
  clock: Clock,
  { method, headMs: ms, signal }: ObjectRequest,
  url: URL,
  connection: HttpConnection,
  text: string,
): Promise<ResponseHead> {
  const fault = () => new Fault('transfer-stalled', `${url.host}: no answer within ${ms / 1000} s`);
  try {
    return await withDeadline({ clock, signal, ms, fault }, (inner) =>
      orAborted(connection.request(method, text), inner),
    );
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/** The text of a request head; refuses anything that could smuggle in a second line. */
export function requestHead(method: string, url: URL, headers: Record<string, string>): string {
  const fields = { Host: url.host, 'User-Agent': 'updraft', Accept: '*/*', ...headers };
  let text = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`;
  for (const [name, value] of Object.entries(fields)) {
    if (!/^[\w-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new Fault(
        'url-invalid',
        `request header ${JSON.stringify(name)} holds characters that may not be sent`,
      );
    text += `${name}: ${value}\r\n`;
  }
  return `${text}\r\n`;
}

function parseUrl(text: string, base?: URL): URL {
  try {
    const url = new URL(text, base);
    if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  } catch (error) {
    throw new Fault('url-invalid', `not a URL: ${JSON.stringify(text.slice(0, 200))}`, {
      cause: asFault(error),
    });
  }
  throw new Fault('url-invalid', `neither http nor https: ${JSON.stringify(text.slice(0, 200))}`);
}
