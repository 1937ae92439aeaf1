import type { Redact } from '@updraft/base/secrets';
import net from 'node:net';
import tls from 'node:tls';
import { bodyDecoder, HeadParser, ProtocolError, type BodyDecoder, type ResponseHead } from './response.ts';
import { trustContext } from './trust.ts';

/** The connection ended before the answer did. */
export class ConnectionLost extends Error {}

export type Method = 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE' | 'PROPFIND';

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
      return parsed && this.#headRead(parsed.head, chunk, parsed.bodyAt);
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
      const taken = data && this.#take?.(data);
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

interface Endpoint {
  host: string;
  port: number;
  tls: boolean;
  /** Certificate authorities to trust; undefined means the built-in ones. */
  ca: string[] | undefined;
}

interface SocketEvents {
  /**
   * The next bytes, in a reused buffer that belongs to the socket again when this returns or its promise resolves.
   * Until then the socket is paused and delivers nothing else.
   */
  take(chunk: Buffer): void | Promise<void>;
  /** Called once, after the last byte was taken. */
  closed(error: Error | undefined): void;
}

/**
 * Bun's 'data' events are faster than its `onread`; Node's `onread` with a reused buffer is much faster than its
 * 'data' events (no allocation, few copies). This class hides the difference.
 */
const reusesBuffers = !('Bun' in globalThis);

/** A TCP or TLS connection that delivers bytes in order, one chunk at a time, with back-pressure. */
export class RawSocket {
  readonly #socket: net.Socket;
  readonly #events: SocketEvents;
  /** Bytes that arrived after a pause: TLS still delivers what it has already decrypted. */
  #late: Buffer[] = [];
  #busy = false;
  #ended = false;
  #error: Error | undefined;
  readonly #slab: ReadSlab | undefined;

  private constructor(endpoint: Endpoint, events: SocketEvents) {
    this.#events = events;
    if (reusesBuffers) this.#slab = new ReadSlab(endpoint.tls, (chunk) => this.#arrived(chunk));
    this.#socket = endpoint.tls
      ? tls.connect(this.#tlsOptions(endpoint))
      : net.connect(this.#options(endpoint));
    if (!reusesBuffers) this.#socket.on('data', (chunk: Buffer) => void this.#arrived(chunk));
    this.#socket.on('end', () => this.#finish(undefined));
    this.#socket.on('close', () => this.#finish(undefined));
  }

  /** Connects, including the TLS handshake; rejects with the socket's error or the signal's reason. */
  static open(endpoint: Endpoint, events: SocketEvents, signal: AbortSignal): Promise<RawSocket> {
    return new Promise((resolve, reject) => {
      const raw = new RawSocket(endpoint, events);
      const abort = () => {
        raw.destroy();
        reject(signal.reason as Error);
      };
      if (signal.aborted) {
        abort();
        return;
      }
      signal.addEventListener('abort', abort, { once: true });
      raw.#socket.once(endpoint.tls ? 'secureConnect' : 'connect', () => {
        signal.removeEventListener('abort', abort);
        raw.#socket.setNoDelay(true);
        resolve(raw);
      });
      raw.#socket.on('error', (error) => {
        signal.removeEventListener('abort', abort);
        reject(error);
        raw.#finish(error);
      });
    });
  }

  /** Returns a promise if the socket's buffer is full; it resolves when the socket accepts more. */
  send(bytes: string | Buffer): Promise<void> | undefined {
    const socket = this.#socket;
    const wantsMore = typeof bytes === 'string' ? socket.write(bytes, 'latin1') : socket.write(bytes);
    return wantsMore ? undefined : new Promise((resolve) => socket.once('drain', resolve));
  }

  keepsProcess(keeps: boolean): void {
    if (keeps) this.#socket.ref();
    else this.#socket.unref();
  }

  destroy(): void {
    this.#ended = true;
    this.#late = [];
    this.#socket.destroy();
  }

  #options(endpoint: Endpoint): net.NetConnectOpts {
    const place = { host: endpoint.host, port: endpoint.port };
    if (this.#slab === undefined) return place;
    const slab = this.#slab;
    const callback = (length: number): boolean => {
      slab.filled(length);
      return true;
    };
    // `buffer` is called after each callback. A single fixed buffer would be overwritten while its consumer still
    // uses it: after a pause TLS still delivers what it has decrypted.
    return { ...place, onread: { buffer: () => slab.room(), callback } };
  }

  #tlsOptions(endpoint: Endpoint): tls.ConnectionOptions {
    return {
      ...(this.#options(endpoint) as tls.ConnectionOptions),
      ...(net.isIP(endpoint.host) === 0 && { servername: endpoint.host }),
      ...(endpoint.ca !== undefined && { secureContext: trustContext(endpoint.ca) }),
      // Explicit, so that no environment variable can turn it off: tokens and data use this connection.
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
    };
  }

  /** True if the chunk is still in use after the call. */
  #arrived(chunk: Buffer): boolean {
    if (this.#ended) return false;
    if (this.#busy) {
      this.#late.push(reusesBuffers ? Buffer.from(chunk) : chunk);
      return false;
    }
    const taken = this.#events.take(chunk);
    if (taken === undefined) return false;
    this.#busy = true;
    this.#socket.pause();
    taken.then(
      () => this.#continue(),
      () => this.destroy(),
    );
    return true;
  }

  async #continue(): Promise<void> {
    for (let chunk = this.#late.shift(); chunk !== undefined; chunk = this.#late.shift()) {
      const taken = this.#events.take(chunk);
      if (taken !== undefined) await taken;
    }
    this.#busy = false;
    if (this.#ended) this.#events.closed(this.#error);
    else this.#socket.resume();
  }

  #finish(error: Error | undefined): void {
    this.#slab?.flush();
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    if (!this.#busy) this.#events.closed(error);
  }
}

/** Large enough for few reads, small enough to stay in the processor's cache until written. */
const slabBytes = 512 * 1024;
/** The size of one TLS record: with less room than this the slab is delivered. */
const recordBytes = 16 * 1024;

/**
 * The memory that a socket reads into, used over and over. TLS delivers 16 KiB at a time; with `gather` these pieces
 * are stored side by side and delivered together, once per turn of the event loop.
 */
export class ReadSlab {
  readonly #gather: boolean;
  /** Takes bytes; true if they are still in use when it returns. */
  readonly #deliver: (chunk: Buffer) => boolean;
  #slab: Buffer = Buffer.allocUnsafeSlow(slabBytes);
  #spare: Buffer | undefined;
  #filled = 0;
  /** What `room` returned last: the next read goes there even if the slab was delivered since. */
  #lent: Buffer = this.#slab;
  #scheduled = false;

  constructor(gather: boolean, deliver: (chunk: Buffer) => boolean) {
    this.#gather = gather;
    this.#deliver = deliver;
  }

  /** Where the next read goes. */
  room(): Buffer {
    this.#lent = this.#slab.subarray(this.#filled);
    return this.#lent;
  }

  /** A read has filled this many bytes of what `room` returned. */
  filled(length: number): void {
    const { buffer, byteOffset } = this.#lent;
    // Delivered between two reads: this read landed in the old slab.
    if (buffer !== this.#slab.buffer || byteOffset !== this.#filled)
      this.#slab.set(this.#lent.subarray(0, length), this.#filled);
    this.#filled += length;
    if (!this.#gather || slabBytes - this.#filled < recordBytes) this.flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.flush();
      });
    }
  }

  /** Delivers what was read. Bytes still in use keep their slab, and the next reads use the other one. */
  flush(): void {
    if (this.#filled === 0) return;
    const chunk = this.#slab.subarray(0, this.#filled);
    this.#filled = 0;
    if (!this.#deliver(chunk)) return;
    const next = this.#spare ?? Buffer.allocUnsafeSlow(slabBytes);
    this.#spare = this.#slab;
    this.#slab = next;
  }
}
