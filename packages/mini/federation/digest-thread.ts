import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Digester, type DigestName } from './digests.ts';

/** Bytes of a transferred buffer; length 0 asks for the digests. */
interface Piece {
  buffer: ArrayBuffer;
  length: number;
}

/** Computes digests in a worker thread, to keep the event loop free. */
export class DigestThread implements AsyncDisposable {
  readonly #worker: Worker;
  /** Resolves to the free buffer when the thread is done with the other. */
  #spare: Promise<ArrayBuffer>;

  constructor(algorithms: DigestName[], pieceBytes: number) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: algorithms });
    this.#worker.unref();
    this.#spare = Promise.resolve(new ArrayBuffer(pieceBytes));
  }

  /** Hands a full buffer to the thread and returns the free one. */
  async add({ buffer, length }: Piece): Promise<ArrayBuffer> {
    const spare = await this.#spare;
    this.#spare = this.#ask<ArrayBuffer>({ buffer, length });
    // A failure is thrown by the next call that awaits it.
    this.#spare.catch(() => undefined);
    return spare;
  }

  async value(): Promise<string> {
    return await this.#ask<string>({ buffer: await this.#spare, length: 0 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }

  async #ask<T>(piece: Piece): Promise<T> {
    const answer = once(this.#worker, 'message');
    this.#worker.postMessage(piece, [piece.buffer]);
    const [value] = (await answer) as [T];
    return value;
  }
}

function work(port: NonNullable<typeof parentPort>, algorithms: DigestName[]): void {
  const digests = new Digester(algorithms);
  port.on('message', ({ buffer, length }: Piece) => {
    digests.update(new Uint8Array(buffer, 0, length));
    if (length > 0) port.postMessage(buffer, [buffer]);
    else port.postMessage(digests.value());
  });
}

if (!isMainThread && parentPort !== null && Array.isArray(workerData))
  work(parentPort, workerData as DigestName[]);
