import type { Clock } from '../base/clock.ts';
import { orAborted } from '../base/map-limited.ts';
import { HttpConnection } from './http-connection.ts';
import { NoAnswer, noAnswer } from './no-answer.ts';

/** Servers and what lies between forget connections on which nothing happens. */
const keepMs = 15_000;
const maxPerServer = 4;

/**
 * Open connections that wait for their next request; those who fetch many objects share one. They do not keep the
 * process from ending.
 */
export class KeptConnections implements Disposable {
  readonly #clock: Clock;
  readonly #kept = new Map<string, { connection: HttpConnection; since: number }[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** An open connection to this server (`https://host:port`), if there is one. */
  take(origin: string): HttpConnection | undefined {
    const kept = this.#kept.get(origin) ?? [];
    for (let last = kept.pop(); last !== undefined; last = kept.pop()) {
      const isFresh = this.#clock.monotonic() - last.since < keepMs;
      if (isFresh && last.connection.idle) {
        last.connection.keepsProcess(true);
        return last.connection;
      }
      last.connection.destroy();
    }
    return undefined;
  }

  give(origin: string, connection: HttpConnection): void {
    const kept = this.#kept.get(origin) ?? [];
    if (kept.length >= maxPerServer) {
      connection.destroy();
      return;
    }
    connection.keepsProcess(false);
    kept.push({ connection, since: this.#clock.monotonic() });
    this.#kept.set(origin, kept);
  }

  [Symbol.dispose](): void {
    for (const { connection } of [...this.#kept.values()].flat()) connection.destroy();
    this.#kept.clear();
  }
}

interface PoolOptions {
  clock: Clock;
  /** Certificate authorities to trust; undefined means the built-in ones. */
  ca: string[] | undefined;
  connectMs?: number;
  /** Where open connections come from, and stay afterwards; its own where none are shared. */
  kept?: KeptConnections | undefined;
}

/**
 * Connections straight to servers. Proxy variables are not honoured: a proxy for https sees only a tunnel and adds
 * one more thing that can stall, and one for plain http may hand out another job's copy of an answer.
 */
export class ConnectionPool {
  readonly clock: Clock;
  readonly #ca: string[] | undefined;
  readonly #connectMs: number;
  readonly #kept: KeptConnections;
  readonly #isShared: boolean;
  readonly #used = new Set<HttpConnection>();

  constructor({ clock, ca, connectMs = 10_000, kept }: PoolOptions) {
    this.clock = clock;
    this.#ca = ca;
    this.#connectMs = connectMs;
    this.#isShared = kept !== undefined;
    this.#kept = kept ?? new KeptConnections(clock);
  }

  /** An open connection that was used before, if there is one. */
  takeIdle(url: URL): HttpConnection | undefined {
    const connection = this.#kept.take(url.origin);
    if (connection !== undefined) this.#used.add(connection);
    return connection;
  }

  /** A new connection; NoAnswer says why there is none. */
  async open(url: URL, signal: AbortSignal): Promise<HttpConnection> {
    const secure = url.protocol === 'https:';
    const endpoint = {
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
      tls: secure,
      ca: this.#ca,
    };
    const { clock } = this;
    const ms = this.#connectMs;
    const late = () =>
      new NoAnswer('timeout', url.host, `does not take the connection within ${ms / 1000} s`);
    try {
      const connection = await withDeadline({ clock, signal, ms, late }, (inner) =>
        HttpConnection.open(endpoint, inner),
      );
      this.#used.add(connection);
      return connection;
    } catch (error) {
      signal.throwIfAborted();
      throw noAnswer(url.host, error, { isConnected: false });
    }
  }

  /** Takes a connection back; one that cannot be used again is closed. */
  give(url: URL, connection: HttpConnection): void {
    // One that is not listed was in use when the pool was closed.
    if (this.#used.delete(connection) && connection.idle) this.#kept.give(url.origin, connection);
    else connection.destroy();
  }

  /** Ends every connection in use, and those that wait unless they are shared. */
  close(): void {
    for (const connection of this.#used) connection.destroy();
    this.#used.clear();
    if (!this.#isShared) this.#kept[Symbol.dispose]();
  }
}

interface Deadline {
  clock: Clock;
  signal: AbortSignal;
  ms: number;
  /** What it ends with when the time is up. */
  late: () => Error;
}

/** Runs `work` with a signal that aborts after `ms`, or with the outer signal; does not wait for work that ignores it. */
export async function withDeadline<T>(
  { clock, signal, ms, late }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const isLate = new AbortController();
  const finished = new AbortController();
  clock.sleep(ms, finished.signal).then(
    () => isLate.abort(late()),
    () => undefined,
  );
  const either = AbortSignal.any([signal, isLate.signal]);
  try {
    return await orAborted(work(either), either);
  } finally {
    finished.abort();
  }
}
