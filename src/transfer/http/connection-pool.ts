import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../fault/fault.ts';
import { withDeadline } from '../engine/deadline.ts';
import { HttpConnection } from './http-connection.ts';
import type { KeptConnections } from './kept-connections.ts';

interface PoolOptions {
  clock: Clock;
  ca: string[] | undefined;
  connectMs: number;
  /** Where open connections come from, and stay afterwards. */
  kept?: KeptConnections | undefined;
}

/** Connections kept open between requests to the same server. */
export class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #idle = new Map<string, HttpConnection[]>();
  readonly #all = new Set<HttpConnection>();
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** An open connection that was used before, if there is one. */
  takeIdle(url: URL): HttpConnection | undefined {
    const waiting = this.#idle.get(url.origin) ?? [];
    for (let connection = waiting.pop(); connection !== undefined; connection = waiting.pop())
      if (connection.idle) return connection;
    const kept = this.#options.kept?.take(url.origin);
    if (kept !== undefined) this.#all.add(kept);
    return kept;
  }

  /** A new connection; a Fault says why there is none. */
  async open(url: URL, signal: AbortSignal): Promise<HttpConnection> {
    const secure = url.protocol === 'https:';
    const endpoint = {
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
      tls: secure,
      ca: this.#options.ca,
    };
    const { clock, connectMs: ms } = this.#options;
    const fault = () => new Fault('servers-unreachable', `${url.host}: no connection within ${ms / 1000} s`);
    try {
      const connection = await withDeadline({ clock, signal, ms, fault }, (inner) =>
        HttpConnection.open(endpoint, inner),
      );
      this.#all.add(connection);
      return connection;
    } catch (error) {
      if (signal.aborted || error instanceof Fault) throw error;
      throw connectFault(url, error as NodeJS.ErrnoException);
    }
  }

  /** Gives a connection back; one that cannot be used again is closed. */
  give(url: URL, connection: HttpConnection): void {
    if (this.#closed || !connection.idle) {
      this.#all.delete(connection);
      connection.destroy();
      return;
    }
    const waiting = this.#idle.get(url.origin);
    if (waiting === undefined) this.#idle.set(url.origin, [connection]);
    else waiting.push(connection);
  }

  /** Ends every connection, also those in use, unless the next fetch can use it. */
  close(): void {
    this.#closed = true;
    const { kept } = this.#options;
    for (const [origin, waiting] of this.#idle)
      for (const connection of waiting)
        if (kept !== undefined && connection.idle && this.#all.delete(connection))
          kept.give(origin, connection);
    for (const connection of this.#all) connection.destroy();
    this.#all.clear();
    this.#idle.clear();
  }
}

const reasons: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'unknown host name',
  EAI_AGAIN: 'host name cannot be looked up',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'connection timed out',
};

function connectFault(url: URL, error: NodeJS.ErrnoException): Fault {
  const code = error.code ?? '';
  const certificate = /CERT|SIGNATURE|ISSUER|CHAIN|ALTNAME/.test(code);
  return new Fault('servers-unreachable', `${url.host}: ${reasons[code] ?? error.message}`, {
    about: url.host,
    cause: error,
    ...(certificate && { fix: 'If the authority is a private one, name its certificate in SSL_CERT_FILE.' }),
  });
}
