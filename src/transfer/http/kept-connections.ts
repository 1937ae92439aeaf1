import type { Clock } from '../../base/clock.ts';
import type { HttpConnection } from './http-connection.ts';

/** Servers and what lies between forget connections on which nothing happens. */
const keepMs = 15_000;
const mostPerServer = 4;

/** Connections that one fetch leaves to the next, for those who fetch many objects; to be closed by whoever made it. */
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
      if (isFresh && last.connection.idle) return last.connection;
      last.connection.destroy();
    }
    return undefined;
  }

  /** Takes a connection over. */
  give(origin: string, connection: HttpConnection): void {
    const kept = this.#kept.get(origin) ?? [];
    if (kept.length >= mostPerServer) connection.destroy();
    else this.#kept.set(origin, [...kept, { connection, since: this.#clock.monotonic() }]);
  }

  [Symbol.dispose](): void {
    for (const { connection } of [...this.#kept.values()].flat()) connection.destroy();
    this.#kept.clear();
  }
}
