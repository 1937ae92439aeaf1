import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { Certificate } from '@updraft/mini/testing';
import type { LocateOptions, Locator, ObjectServer } from '@updraft/pelican/federation';

/** One request as the server saw it. */
export interface Seen {
  method: string;
  range: string | undefined;
  headers: http.IncomingHttpHeaders;
  /** The client's port: another one is another connection. */
  port: number | undefined;
}

export interface Exchange {
  /** Number of this GET at this server, from 1. */
  nth: number;
  /** Offset of the first requested byte. */
  from: number;
  request: http.IncomingMessage;
  response: http.ServerResponse;
  bytes: Buffer;
  /** Answers as a good server would, or with another status or headers. */
  answer(changes?: { status?: number; headers?: Record<string, string>; from?: number; body?: Buffer }): void;
  /** Sends a good head and the first `count` requested bytes, then calls `then`. */
  begin(count: number, then: () => void): void;
}

export interface ServerOptions {
  bytes: Buffer;
  kind?: ObjectServer['kind'];
  path?: string;
  /** Its answers' own; without any, a modification time, so that parts of it can be joined. */
  headers?: Record<string, string>;
  tls?: Certificate;
  /** What this server does instead of answering correctly. */
  get?: (exchange: Exchange) => void;
  head?: (request: http.IncomingMessage, response: http.ServerResponse) => void;
  /** What it says about the object if it is an origin; others do not list. */
  propfind?:
    | { size?: number; modified: string; etag?: string; isCollection?: boolean }
    | { status: number }
    | { hangs: true };
}

export interface RunningServer {
  server: ObjectServer;
  seen: Seen[];
}

/** When the object of a server without headers of its own was modified. */
export const defaultTime = 'Mon, 02 Nov 2026 00:00:00 GMT';

/** A small object server that misbehaves as a test wants; it stops with the test. */
export async function serveObject(t: TestContext, given: ServerOptions): Promise<RunningServer> {
  const options = { headers: { 'Last-Modified': defaultTime }, ...given };
  const seen: Seen[] = [];
  let gets = 0;
  const listener = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    response.on('error', () => undefined);
    const { method = '', headers, socket } = request;
    // Arrives concurrently with the others, at any time: tests that count requests must not count it.
    if (method === 'PROPFIND') {
      answerProperties(options, response);
      return;
    }
    seen.push({ method, range: headers.range, headers, port: socket.remotePort });
    if (request.method === 'HEAD') {
      if (options.head !== undefined) {
        options.head(request, response);
        return;
      }
      response.writeHead(200, { 'Content-Length': options.bytes.length, ...options.headers }).end();
      return;
    }
    const exchange = makeExchange(options, request, response, ++gets);
    if (options.get === undefined) exchange.answer();
    else options.get(exchange);
  };
  const secure = options.tls;
  const server =
    secure === undefined
      ? http.createServer(listener)
      : https.createServer({ cert: secure.certificate, key: secure.key }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = `${secure === undefined ? 'http' : 'https'}://${host}${options.path ?? '/ns/data.bin'}`;
  return { server: { url, host, kind: options.kind ?? 'cache' }, seen };
}

function answerProperties(
  { propfind = { status: 405 }, path }: ServerOptions,
  response: http.ServerResponse,
): void {
  if ('hangs' in propfind) return;
  if ('status' in propfind) {
    response.writeHead(propfind.status, { 'Content-Length': '0' }).end();
    return;
  }
  const { size, modified, etag, isCollection } = propfind;
  const tag = etag === undefined ? '' : `<D:getetag>${etag}</D:getetag>`;
  const length = size === undefined ? '' : `<D:getcontentlength>${size}</D:getcontentlength>`;
  const type = isCollection === true ? '<D:resourcetype><D:collection/></D:resourcetype>' : '';
  response.writeHead(207).end(
    `<D:multistatus xmlns:D="DAV:"><D:response><D:href>${path ?? '/ns/data.bin'}</D:href><D:propstat><D:prop>
    <D:getlastmodified>${modified}</D:getlastmodified>${tag}${length}${type}
    </D:prop></D:propstat></D:response></D:multistatus>`,
  );
}

function makeExchange(
  { bytes, headers: fixed }: ServerOptions,
  request: http.IncomingMessage,
  response: http.ServerResponse,
  nth: number,
): Exchange {
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const from = Number(range?.[1] ?? 0);
  const end = Math.min(
    bytes.length,
    range?.[2] === undefined || range[2] === '' ? Infinity : Number(range[2]) + 1,
  );
  const partial = range !== null;
  const fields = (start: number): Record<string, string> => ({
    'Content-Length': String(end - start),
    ...(partial && { 'Content-Range': `bytes ${start}-${end - 1}/${bytes.length}` }),
    ...fixed,
  });
  const answer: Exchange['answer'] = (changes = {}) => {
    if (partial && from >= bytes.length && changes.status === undefined) {
      response.writeHead(416, { 'Content-Range': `bytes */${bytes.length}`, 'Content-Length': '0' }).end();
      return;
    }
    const body = changes.body ?? bytes.subarray(from, end);
    response.writeHead(changes.status ?? (partial ? 206 : 200), {
      ...fields(changes.from ?? from),
      ...(changes.body !== undefined && { 'Content-Length': String(body.length) }),
      ...changes.headers,
    });
    response.end(body);
  };
  const begin: Exchange['begin'] = (count, then) => {
    response.writeHead(partial ? 206 : 200, fields(from));
    response.write(bytes.subarray(from, Math.min(end, from + count)), then);
  };
  return { nth, from, request, response, bytes, answer, begin };
}

/** Headers for every request, or a function that returns them. */
type Headers = Record<string, string> | (() => Record<string, string>);

/** A locator that names these servers, and the questions it got. */
export function locatorOf(
  servers: RunningServer[],
  more: { ca?: string[]; direct?: RunningServer[]; lister?: RunningServer; headers?: Headers } = {},
): Locator & { asked: LocateOptions[] } {
  const asked: LocateOptions[] = [];
  return {
    asked,
    ca: more.ca,
    locate(url, options = {}) {
      asked.push(options);
      const named = options.direct === true && more.direct !== undefined ? more.direct : servers;
      return Promise.resolve({
        url,
        servers: named.map(({ server }) => server),
        requireToken: more.headers !== undefined,
        ...(more.lister !== undefined && { collectionsUrl: more.lister.server.url }),
        headers: () =>
          Promise.try(() => (typeof more.headers === 'function' ? more.headers() : (more.headers ?? {}))),
      });
    },
  };
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Different at every offset, so that a byte in the wrong place is always detected. */
export function objectBytes(size: number): Buffer {
  return randomBytes(size);
}

/** Where a Range header begins. */
export function firstByte(range: string | undefined): number {
  return Number(/^bytes=(\d+)-/.exec(range ?? '')?.[1] ?? 0);
}
