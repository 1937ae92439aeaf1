import { abortable, type Clock } from '@updraft/base';
import { HttpConnection } from './http-connection.ts';
import { NoAnswer, noAnswer } from './no-answer.ts';

/** Servers, and the devices in between, drop connections that stay idle. */
const maxIdleMs = 15_000;
const maxPerServer = 4;

/**
 * Open connections waiting for their next request; fetches of many objects share one instance. They do not keep the
 * process from exiting.
 */
export class IdleConnections implements Disposable {
  readonly #clock: Clock;
  readonly #idle = new Map<string, { connection: HttpConnection; since: number }[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** An open connection to this server (`https://host:port`), if there is one. */
  take(origin: string): HttpConnection | undefined {
    const idle = this.#idle.get(origin) ?? [];
    for (let last = idle.pop(); last !== undefined; last = idle.pop()) {
      const isFresh = this.#clock.monotonic() - last.since < maxIdleMs;
      if (isFresh && last.connection.idle) {
        last.connection.keepsProcess(true);
        return last.connection;
      }
      last.connection.destroy();
    }
    return undefined;
  }

  release(origin: string, connection: HttpConnection): void {
    const idle = this.#idle.get(origin) ?? [];
    if (idle.length >= maxPerServer) {
      connection.destroy();
      return;
    }
    connection.keepsProcess(false);
    idle.push({ connection, since: this.#clock.monotonic() });
    this.#idle.set(origin, idle);
  }

  [Symbol.dispose](): void {
    for (const { connection } of [...this.#idle.values()].flat()) connection.destroy();
    this.#idle.clear();
  }
}

interface PoolOptions {
  clock: Clock;
  /** Certificate authorities to trust; undefined means the built-in ones. */
  ca: string[] | undefined;
  connectMs?: number;
  /** Where open connections come from and return to; private to the pool unless shared. */
  idle?: IdleConnections | undefined;
}

/**
 * Direct connections to servers. Proxy variables are ignored: a proxy for https is one more thing that can stall,
 * and one for plain http may return another job's copy of an answer.
 */
export class ConnectionPool {
  readonly clock: Clock;
  readonly #ca: string[] | undefined;
  readonly #connectMs: number;
  readonly #idle: IdleConnections;
  readonly #isShared: boolean;
  readonly #used = new Set<HttpConnection>();

  constructor({ clock, ca, connectMs = 10_000, idle }: PoolOptions) {
    this.clock = clock;
    this.#ca = ca;
    this.#connectMs = connectMs;
    this.#isShared = idle !== undefined;
    this.#idle = idle ?? new IdleConnections(clock);
  }

  takeIdle(url: URL): HttpConnection | undefined {
    const connection = this.#idle.take(url.origin);
    if (connection !== undefined) this.#used.add(connection);
    return connection;
  }

  /** Opens a new connection; throws NoAnswer with the reason if that fails. */
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
    const timeoutError = () =>
      new NoAnswer('timeout', url.host, `does not accept the connection within ${ms / 1000} s`);
    try {
      const connection = await withDeadline({ clock, signal, ms, timeoutError }, (inner) =>
        HttpConnection.open(endpoint, inner),
      );
      this.#used.add(connection);
      return connection;
    } catch (error) {
      signal.throwIfAborted();
      throw noAnswer(url.host, error, { isConnected: false });
    }
  }

  /** Returns a connection to the pool; one that cannot be used again is closed. */
  release(url: URL, connection: HttpConnection): void {
    // A connection that is not listed was in use when the pool was closed.
    if (this.#used.delete(connection) && connection.idle) this.#idle.release(url.origin, connection);
    else connection.destroy();
  }

  /** Closes every connection in use, and the idle ones unless they are shared. */
  close(): void {
    for (const connection of this.#used) connection.destroy();
    this.#used.clear();
    if (!this.#isShared) this.#idle[Symbol.dispose]();
  }
}

interface Deadline {
  clock: Clock;
  signal: AbortSignal;
  ms: number;
  timeoutError: () => Error;
}

/** Runs `work` with a signal that aborts after `ms` or with the outer one; does not wait for work that ignores it. */
export async function withDeadline<T>(
  { clock, signal, ms, timeoutError }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const isLate = new AbortController();
  const finished = new AbortController();
  clock.sleep(ms, finished.signal).then(
    () => isLate.abort(timeoutError()),
    () => undefined,
  );
  const either = AbortSignal.any([signal, isLate.signal]);
  try {
    return await abortable(work(either), either);
  } finally {
    finished.abort();
  }
}

/** A server that has not answered by then gets company: it may still win. */
const raceMs = 2_000;
const stepMs = 500;
/** More would flood a federation whose servers are only slow. */
const maxRaced = 20;

/** How many servers may be asked at once when the first of them has been silent for so long. */
export const raceWidth = (silentMs: number): number =>
  silentMs < raceMs ? 1 : Math.min(maxRaced, 2 + Math.floor((silentMs - raceMs) / stepMs));

interface Asking {
  federation: { wire: Pick<ConnectionPool, 'clock'> };
  signal?: AbortSignal | undefined;
}

/**
 * Asks servers in order until one has an answer: the next one as soon as one has none, or has been silent for too long.
 * The first answer wins, and the requests to the others are aborted. Undefined if none has one; rejects with the first
 * error.
 */
export async function firstAnswer<Server, Answer, How extends Asking>(
  servers: readonly Server[],
  ask: (server: Server, how: How & { signal: AbortSignal }) => Promise<Answer | undefined>,
  options: How,
): Promise<Answer | undefined> {
  const { clock } = options.federation.wire;
  const over = new AbortController();
  const how = {
    ...options,
    signal: AbortSignal.any([over.signal, ...(options.signal ? [options.signal] : [])]),
  };
  /** Requests without an answer yet, and since when. */
  const open = new Map<Promise<Answer | undefined>, number>();
  const waiting = [...servers];
  try {
    while (open.size > 0 || waiting.length > 0) {
      const now = clock.monotonic();
      const silentMs = now - Math.min(now, ...open.values());
      if (waiting.length > 0 && open.size < raceWidth(silentMs)) {
        const [next] = waiting.splice(0, 1) as [Server];
        const asked = ask(next, how).finally(() => open.delete(asked));
        open.set(asked, now);
      } else {
        const pauseMs = silentMs < raceMs ? raceMs - silentMs : stepMs;
        const pause = waiting.length > 0 ? [clock.sleep(pauseMs, over.signal).then(() => undefined)] : [];
        const answer = await Promise.race([...open.keys(), ...pause]);
        if (answer !== undefined) return answer;
      }
    }
    return undefined;
  } finally {
    over.abort();
  }
}
