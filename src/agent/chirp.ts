import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import type { Env } from '../base/env.ts';

/** HTCondor takes lines up to 5120 bytes; what is longer is not worth a line in a log. */
const longestLine = 4000;
/** How long the access point may take to answer before nobody waits for it any more. */
const patienceMs = 5000;

/**
 * The line to the access point that HTCondor keeps open for every job: what is said appears in the job's event log at
 * once. Nobody depends on it: where it is missing or breaks, words are lost and nothing else.
 */
export class Chirp {
  readonly #socket: Socket;
  readonly #ended: Promise<void>;

  private constructor(socket: Socket, cookie: string) {
    this.#socket = socket;
    this.#ended = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => socket.destroy());
    socket.setTimeout(patienceMs, () => undefined);
    // Answers are numbers, a line each; they are read so that they do not pile up.
    socket.resume();
    socket.write(`cookie ${cookie}\n`);
    socket.unref();
  }

  static async open(env: Env): Promise<Chirp | undefined> {
    const file = env['_CONDOR_CHIRP_CONFIG'];
    if (file === undefined) return undefined;
    const text = await readFile(file, 'utf8').catch(() => '');
    const [host, port, cookie] = text.trim().split(/\s+/);
    if (host === undefined || cookie === undefined) return undefined;
    return new Chirp(connect(Number(port), host), cookie);
  }

  /** Writes a line into the job's event log. */
  log(line: string): void {
    const escaped = line.replace(/[\\ \t]/g, String.raw`\$&`).replace(/[\r\n]+/g, String.raw`\ `);
    if (Buffer.byteLength(escaped) <= longestLine && this.#socket.writable)
      this.#socket.write(`ulog ${escaped}\n`);
  }

  /** Waits until what was said is on its way, but not for long. */
  async close(): Promise<void> {
    this.#socket.end();
    this.#socket.setTimeout(patienceMs, () => this.#socket.destroy());
    await this.#ended;
  }
}
