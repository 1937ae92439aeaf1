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
   * The next bytes. They are a reused buffer and belong to the socket again when this returns, or when its
   * promise resolves: until then the socket is paused and nothing else is handed over.
   */
  take(chunk: Buffer): void | Promise<void>;
  /** Called once, after the last byte was taken. */
  closed(error: Error | undefined): void;
}

/**
 * Bun's 'data' events beat its `onread`; Node's `onread` with a reused buffer beats its 'data' events by far
 * (no allocation, few copies). Both are behind this one class.
 */
const reusesBuffers = !('Bun' in globalThis);

/** A TCP or TLS connection that hands over bytes in order, one chunk at a time, with back-pressure. */
export class RawSocket {
  readonly #socket: net.Socket;
  readonly #events: SocketEvents;
  /** Bytes that came after a pause: TLS hands on whatever it had already decrypted. */
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

  /** Connects, and for TLS shakes hands; rejects with the socket's error or the signal's reason. */
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

  /** Where the socket has enough for now, a promise that resolves when it wants more. */
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
    // `buffer` is asked for after each callback. One fixed buffer would be overwritten under the hands of a
    // taker that is not done with it: after a pause TLS still hands on what it has decrypted.
    return { ...place, onread: { buffer: () => slab.room(), callback } };
  }

  #tlsOptions(endpoint: Endpoint): tls.ConnectionOptions {
    return {
      ...(this.#options(endpoint) as tls.ConnectionOptions),
      ...(net.isIP(endpoint.host) === 0 && { servername: endpoint.host }),
      ...(endpoint.ca !== undefined && { secureContext: trustContext(endpoint.ca) }),
      // Said, so that no variable of the machine can unsay it: tokens and data go this way.
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

/** Few reads, and yet small enough to be still in the processor when it is written out. */
const slabBytes = 512 * 1024;
/** What one TLS record can hold: with less room than this the slab is handed over. */
const recordBytes = 16 * 1024;

/**
 * The memory a socket reads into, used over and over. TLS brings 16 KiB at a time: with `gather` they are laid
 * one after the other and handed over together, once per turn of the event loop.
 */
export class ReadSlab {
  readonly #gather: boolean;
  /** Takes bytes; true if they are still in use when it returns. */
  readonly #deliver: (chunk: Buffer) => boolean;
  #slab: Buffer = Buffer.allocUnsafeSlow(slabBytes);
  #spare: Buffer | undefined;
  #filled = 0;
  /** What `room` gave last: the next read goes there even if the slab was handed over since. */
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

  /** A read has filled this much of what `room` gave. */
  filled(length: number): void {
    const { buffer, byteOffset } = this.#lent;
    // Handed over between two reads: this one landed behind what was handed over.
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

  /** Hands over what was read. Bytes still in use keep their slab, and the next reads go to the other one. */
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
