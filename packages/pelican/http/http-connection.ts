import type { Redact } from '@updraft/base/secrets';
import { RawSocket, type Endpoint } from './raw-socket.ts';
import { bodyDecoder, HeadParser, ProtocolError, type BodyDecoder, type ResponseHead } from './response.ts';

/** The connection ended before the answer did. */
export class ConnectionLost extends Error {}

export type Method = 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE' | 'PROPFIND' | 'OPTIONS';

export interface BodyEnd {
  /** False if the reader stopped it, or if the body had no length and ended with the connection. */
  whole: boolean;
  trailers: ReadonlyMap<string, string>;
}

export type TakeBytes = (data: Buffer) => void | Promise<void>;

interface Waiting<T> {
  resolve: (value: T) => void;
  reject: (error: Error) => void;
}

/**
 * One HTTP/1.1 connection, one request at a time:
 *
 *     idle --request()--> head --head read--> held --body()--> body --last byte--> idle
 *
 * `held`: the head is known and the socket is paused until the body is read.
 */
export class HttpConnection {
  /** Undefined while connecting. */
  #socket: RawSocket | undefined;
  #parser = new HeadParser();
  #method: Method = 'GET';
  #decoder: BodyDecoder | undefined;
  #head: Waiting<ResponseHead> | undefined;
  #body: Waiting<BodyEnd> | undefined;
  #take: TakeBytes | undefined;
  #openGate: (() => void) | undefined;
  #reusable = true;
  #dead: Error | undefined;
  #redact: Redact = (text) => text;

  static async open(endpoint: Endpoint, signal: AbortSignal): Promise<HttpConnection> {
    const connection = new HttpConnection();
    const events = {
      take: (chunk: Buffer) => connection.#arrived(chunk),
      closed: (error: Error | undefined) => connection.#closed(error),
    };
    connection.#socket = await RawSocket.open(endpoint, events, signal);
    return connection;
  }

  /** True if another request may be sent. */
  get idle(): boolean {
    return (
      this.#reusable && this.#dead === undefined && this.#head === undefined && this.#decoder === undefined
    );
  }

  /**
   * Sends a request head and resolves with the answer's head; the body waits for `body()`. The sent token is redacted
   * from whatever part of the answer may be shown.
   */
  request(method: Method, head: string, redact: Redact): Promise<ResponseHead> {
    if (this.#dead !== undefined) return Promise.reject(this.#dead);
    this.#method = method;
    this.#redact = redact;
    return new Promise((resolve, reject) => {
      this.#head = { resolve, reject };
      void this.#socket?.send(head);
    });
  }

  /** Redacts the sent token from text of the answer's body. */
  redact(text: string): string {
    return this.#redact(text);
  }

  /** Sends part of the request's body; returns a promise if the caller must wait before sending the next part. */
  send(chunk: Buffer): Promise<void> | undefined {
    return this.#socket?.send(chunk);
  }

  /** Whether the process stays alive while this connection is open. */
  keepsProcess(keeps: boolean): void {
    this.#socket?.keepsProcess(keeps);
  }

  /** Passes the body to `take`, piece by piece, in order; rejects with ConnectionLost if it is cut off. */
  body(take: TakeBytes): Promise<BodyEnd> {
    return new Promise((resolve, reject) => {
      if (this.#dead !== undefined && this.#openGate === undefined) {
        reject(this.#dead);
        return;
      }
      this.#body = { resolve, reject };
      this.#take = take;
      if (this.#decoder?.done === true) this.#bodyDone(true);
      this.#openGate?.();
      this.#openGate = undefined;
    });
  }

  /** Closes the connection; a body being read resolves as not whole, a request waiting for its head rejects. */
  destroy(): void {
    this.#dead ??= new ConnectionLost('closed by us');
    this.#socket?.destroy();
    this.#head?.reject(this.#dead);
    this.#head = undefined;
    this.#bodyDone(false);
    this.#openGate?.();
    this.#openGate = undefined;
  }

  #arrived(chunk: Buffer): void | Promise<void> {
    try {
      if (this.#decoder !== undefined) return this.#decode(chunk, 0);
      if (this.#head === undefined) throw new ProtocolError('unexpected bytes');
      const parsed = this.#parser.feed(chunk);
      if (parsed === undefined) return undefined;
      return this.#headRead(parsed.head, chunk, parsed.bodyAt);
    } catch (error) {
      this.#fail(error as Error);
      return undefined;
    }
  }

  #headRead(head: ResponseHead, chunk: Buffer, bodyAt: number): Promise<void> {
    this.#decoder = bodyDecoder(head, this.#method);
    this.#reusable = head.keepAlive && !this.#decoder.untilClose;
    const gate = new Promise<void>((resolve) => (this.#openGate = resolve));
    this.#head?.resolve({ ...head, reason: this.#redact(head.reason), headers: this.#shown(head.headers) });
    this.#head = undefined;
    return this.#resumeDecode(gate, chunk, bodyAt);
  }

  #decode(chunk: Buffer, from: number): void | Promise<void> {
    let at = from;
    while (at < chunk.length && this.#decoder !== undefined && !this.#decoder.done) {
      const { next, data } = this.#decoder.step(chunk, at);
      at = next;
      const taken = data === undefined ? undefined : this.#take?.(data);
      if (taken !== undefined) return this.#resumeDecode(taken, chunk, at);
    }
    if (at < chunk.length) this.#reusable = false;
    if (this.#decoder?.done === true) this.#bodyDone(true);
  }

  async #resumeDecode(taken: Promise<void>, chunk: Buffer, at: number): Promise<void> {
    try {
      await taken;
      await this.#decode(chunk, at);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #bodyDone(whole: boolean): void {
    const trailers = this.#decoder?.trailers ?? new Map<string, string>();
    const body = this.#body;
    if (body === undefined) return;
    this.#body = undefined;
    this.#take = undefined;
    this.#decoder = undefined;
    body.resolve({ whole, trailers: this.#shown(trailers) });
  }

  /** Redacts the fields, except for redirect targets and plain numbers. */
  #shown(fields: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    const isKept = (name: string, value: string): boolean =>
      name === 'location' || name === 'link' || /^(?:bytes )?[\d*/-]+$/.test(value);
    return new Map(
      [...fields].map(([name, value]) => [name, isKept(name, value) ? value : this.#redact(value)]),
    );
  }

  #closed(error: Error | undefined): void {
    if (this.#decoder?.untilClose === true && error === undefined) {
      this.#bodyDone(false);
      return;
    }
    this.#fail(new ConnectionLost(error?.message ?? 'the server closed the connection', { cause: error }));
  }

  #fail(thrown: Error): void {
    const error = thrown instanceof ProtocolError ? new ProtocolError(this.#redact(thrown.message)) : thrown;
    this.#dead ??= error;
    this.#socket?.destroy();
    this.#head?.reject(error);
    this.#body?.reject(error);
    this.#head = undefined;
    this.#body = undefined;
    this.#decoder = undefined;
  }
}
