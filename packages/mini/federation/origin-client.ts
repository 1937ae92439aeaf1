import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Exchange } from './exchange.ts';
import { denial, encodePath, findNamespace } from './namespace.ts';

/** The origin, or the way to it, failed a cache's request. */
export class UpstreamError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.name = 'UpstreamError';
    this.status = status;
    this.code = code;
  }
}

/** Throws the error with which a cache refuses a client without access. */
export function checkAccess({ context, token }: Exchange, objectPath: string): void {
  const namespace = findNamespace(context.namespaces, objectPath);
  if (namespace === undefined)
    throw new UpstreamError(404, 'not_found', `nothing is published at ${objectPath}`);
  const reason = denial(namespace, objectPath, 'read', token);
  if (reason !== undefined) throw new UpstreamError(403, 'authorization_denied', reason);
}

/** A cache's requests to the origin. */
export class OriginClient {
  readonly #base: string;
  readonly #agent = new http.Agent({ keepAlive: true });
  readonly #signal: AbortSignal;

  constructor(base: string, signal: AbortSignal) {
    this.#base = base;
    this.#signal = signal;
  }

  /** Returns the answer, whatever its status. */
  ask(
    method: string,
    objectPath: string,
    token: string | undefined,
    headers: OutgoingHttpHeaders,
  ): Promise<IncomingMessage> {
    const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const request = http.request(`${this.#base}${encodePath(objectPath)}`, {
      method,
      agent: this.#agent,
      signal: this.#signal,
      headers: { 'User-Agent': 'pelican-cache/7.27.0', ...authorization, ...headers },
    });
    request.on('response', resolve);
    request.on('error', (error) =>
      reject(new UpstreamError(502, 'upstream_connection_error', error.message)),
    );
    request.end();
    return promise;
  }

  /** Returns the answer if its status is one of these; otherwise throws the error for the cache's own client. */
  async expect(statuses: number[], ...question: Parameters<OriginClient['ask']>): Promise<IncomingMessage> {
    const answer = await this.ask(...question);
    const status = answer.statusCode ?? 0;
    if (statuses.includes(status)) return answer;
    answer.resume();
    const detail = `the origin answered ${status} for ${question[1]}`;
    if (status === 404) throw new UpstreamError(404, 'not_found', detail);
    if (status === 401 || status === 403) throw new UpstreamError(403, 'authorization_denied', detail);
    if (status === 405) throw new UpstreamError(405, 'Method Not Allowed', detail);
    if (status === 429) throw new UpstreamError(429, 'origin_unresponsive', detail);
    throw new UpstreamError(status === 504 ? 504 : 502, 'upstream_connection_error', detail);
  }

  /** The unmodified body of the origin's PROPFIND answer. */
  async properties(objectPath: string, token: string | undefined, depth: string): Promise<string> {
    const answer = await this.expect([207], 'PROPFIND', objectPath, token, { Depth: depth });
    return await text(answer);
  }

  async page(objectPath: string, token: string | undefined): Promise<string> {
    return await text(await this.expect([200], 'GET', objectPath, token, {}));
  }

  close(): void {
    this.#agent.destroy();
  }
}
