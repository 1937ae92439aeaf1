import net from 'node:net';
import tls from 'node:tls';
import { trustContext } from './trust.ts';

export interface Endpoint {
  host: string;
  port: number;
  tls: boolean;
  /** Certificate authorities to trust; undefined means the built-in ones. */
  ca: string[] | undefined;
}

export interface SocketEvents {
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
