import type { ServerResponse } from 'node:http';

interface Tally {
  requests: number;
  /** Body bytes handed to the connection. */
  bytes: number;
}

/** What one server did so far. */
export interface ServerCounters extends Tally {
  /** By status; `200 cut` is an answer whose connection ended before the answer did. */
  outcomes: Record<string, number>;
  objects: Record<string, Tally>;
}

/** Counts requests, bytes and outcomes, per server and object. */
export class Counters {
  readonly #servers = new Map<string, ServerCounters>();

  /** A copy that does not change any more. */
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
