import { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Clock } from '@updraft/base';
import type { Traits } from './server-traits.ts';
import { multistatus, type ListedResource, bearerToken, decodePath, type Namespace } from './namespace.ts';
import type { TroubleRequest, Trouble } from './trouble.ts';
import type { WebServer } from './web-server.ts';

/** The director's Server header: without it, clients assume that a proxy answered. */
const directorHeader = 'pelican/7.27.0';

/** What all servers of one federation share. */
export interface SharedContext {
  clock: Clock;
  trouble: Trouble;
  counters: Counters;
  namespaces: Namespace[];
  /** Which real servers it imitates, in detail. */
  traits: Traits;
  /** Aborts when the federation stops. */
  signal: AbortSignal;
}

/** One request and its answer at one server. */
export interface Exchange {
  context: SharedContext;
  server: WebServer;
  request: IncomingMessage;
  response: ServerResponse;
  method: string;
  /** The requested object path, decoded. */
  path: string;
  query: URLSearchParams;
  token: string | undefined;
  /** The request as trouble rules match it. */
  asked: TroubleRequest;
  /** Aborts when the client goes away or the federation stops. */
  signal: AbortSignal;
}

/** Reads and counts a request; answers a malformed path and returns undefined. */
export function openExchange(
  context: SharedContext,
  server: WebServer,
  request: IncomingMessage,
  response: ServerResponse,
): Exchange | undefined {
  const url = new URL(`http://host${request.url?.startsWith('/') ? request.url : '/'}`);
  const objectPath = decodePath(url.pathname);
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('the client went away')));
  response.setHeader('Server', server.name === 'director' ? directorHeader : context.traits.server);
  context.counters.request(server.name, objectPath ?? url.pathname, response);
  if (objectPath === undefined) {
    answerJson(response, 400, { error: 'bad_request', detail: 'malformed path' });
    return undefined;
  }
  const job = request.headers['x-pelican-jobid'];
  return {
    asked: { server: server.name, object: objectPath, job: typeof job === 'string' ? job : undefined },
    context,
    server,
    request,
    response,
    path: objectPath,
    query: url.searchParams,
    method: request.method ?? 'GET',
    token: bearerToken(request, url.searchParams),
    signal: AbortSignal.any([gone.signal, context.signal]),
  };
}

export function answerJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(response.req.method === 'HEAD' ? undefined : text);
}

const plainText = { 'Content-Type': 'text/plain; charset=utf-8' };

/** Answers with an error in the format of the imitated server. */
export function answerError(exchange: Exchange, status: number, code: string, detail: string): void {
  const challenge = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  const { errors } = exchange.context.traits;
  const isText = errors === 'mixed' && exchange.server.name === 'origin';
  if (isText) answerText(exchange, status, STATUS_CODES[status] ?? '', { ...challenge, ...plainText });
  else if (errors === 'text') answerText(exchange, status, `${detail}\n`, challenge);
  else answerJson(exchange.response, status, { error: code, detail }, challenge);
}

/** GET or HEAD of a folder: refused, or answered with a listing page; HEAD has the size of the folder itself. */
export async function answerFolder(exchange: Exchange, page: () => Promise<string>): Promise<void> {
  if (exchange.context.traits.folder === 'refused')
    answerError(exchange, 405, 'Method Not Allowed', `${exchange.path} is a collection`);
  else if (exchange.method === 'HEAD') exchange.response.writeHead(200, { 'Content-Length': 4096 }).end();
  else answerText(exchange, 200, await page(), {});
}

export function answerListed(exchange: Exchange, resources: ListedResource[]): void {
  answerText(exchange, 207, multistatus(resources), { 'Content-Type': 'application/xml; charset=utf-8' });
}

export function answerText(
  { response, method }: Exchange,
  status: number,
  text: string,
  headers: OutgoingHttpHeaders,
): void {
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(text) });
  response.end(method === 'HEAD' ? undefined : text);
}

interface Tally {
  requests: number;
  /** Body bytes handed to the connection. */
  bytes: number;
}

/** What one server has done so far. */
export interface ServerCounters extends Tally {
  /** By status; `200 cut` is an answer whose connection closed early. */
  outcomes: Record<string, number>;
  objects: Record<string, Tally>;
}

/** Counts requests, bytes and outcomes, per server and object. */
export class Counters {
  readonly #servers = new Map<string, ServerCounters>();

  /** Returns a copy. */
  server(name: string): ServerCounters {
    return structuredClone(this.#server(name));
  }

  snapshot(): Record<string, ServerCounters> {
    return structuredClone(Object.fromEntries(this.#servers));
  }

  reset(): void {
    this.#servers.clear();
  }

  /** Counts a request now and its outcome when the answer has ended. */
  request(name: string, object: string, response: ServerResponse): void {
    this.#server(name).requests += 1;
    this.#object(name, object).requests += 1;
    response.once('close', () => {
      const outcome = `${response.statusCode}${response.writableFinished ? '' : ' cut'}`;
      const { outcomes } = this.#server(name);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    });
  }

  bytes(name: string, object: string, bytes: number): void {
    this.#server(name).bytes += bytes;
    this.#object(name, object).bytes += bytes;
  }

  #server(name: string): ServerCounters {
    const known = this.#servers.get(name);
    if (known !== undefined) return known;
    const made: ServerCounters = { requests: 0, bytes: 0, outcomes: {}, objects: {} };
    this.#servers.set(name, made);
    return made;
  }

  #object(name: string, object: string): Tally {
    return (this.#server(name).objects[object] ??= { requests: 0, bytes: 0 });
  }
}
