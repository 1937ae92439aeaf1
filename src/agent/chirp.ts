import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import type { Env } from '../base/env.ts';
import { ChirpAnswers, type Answer, type Rest } from './chirp-answers.ts';

/** HTCondor takes lines up to 5120 bytes; what is longer is not worth a line in a log. */
const longestLine = 4000;
/** How long the access point may take to answer before nobody waits for it any more. */
const patienceMs = 5000;

/**
 * The line to the access point that HTCondor keeps open for every job: what is said appears in the job's event log at
 * once, and files of the folder the job was submitted from can be read and written. Nobody depends on it: where it is
 * missing or breaks, words are lost and nothing else.
 */
export class Chirp {
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #ended: Promise<void>;
  readonly #answers = new ChirpAnswers();

  private constructor(socket: Socket, cookie: string, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    this.#ended = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes) => {
      if (!this.#answers.hear(bytes)) socket.destroy();
    });
    socket.once('close', () => this.#answers.end());
    void this.#say(`cookie ${cookie}\n`, 'nothing');
    socket.unref();
  }

  static async open(env: Env, clock: Clock): Promise<Chirp | undefined> {
    const file = env['_CONDOR_CHIRP_CONFIG'];
    if (file === undefined) return undefined;
    const text = await readFile(file, 'utf8').catch(() => '');
    const [host, port, cookie] = text.trim().split(/\s+/);
    if (host === undefined || cookie === undefined) return undefined;
    return new Chirp(connect(Number(port), host), cookie, clock);
  }

  /** Writes a line into the job's event log. */
  log(line: string): void {
    const escaped = line.replace(/[\\ \t]/g, String.raw`\$&`).replace(/[\r\n]+/g, String.raw`\ `);
    if (Buffer.byteLength(escaped) <= longestLine) void this.#say(`ulog ${escaped}\n`, 'nothing');
  }

  /**
   * Asks for something and gives the answer; undefined when none comes in time. Words hold no blanks and no
   * backslashes; `payload` follows the line as it is.
   */
  async ask(words: string[], rest: Rest = 'nothing', payload = ''): Promise<Answer | undefined> {
    const over = new AbortController();
    const late = this.#clock.sleep(patienceMs, over.signal).catch(() => undefined);
    try {
      return await Promise.race([
        this.#say(`${words.join(' ')}\n${payload}`, rest),
        late.then(() => undefined),
      ]);
    } finally {
      over.abort();
    }
  }

  #say(text: string, rest: Rest): Promise<Answer | undefined> {
    if (!this.#socket.writable) return Promise.resolve(undefined);
    this.#socket.write(text);
    return this.#answers.next(rest);
  }

  /** Waits until what was said is on its way, but not for long. */
  async close(): Promise<void> {
    this.#socket.ref();
    this.#socket.end();
    this.#socket.setTimeout(patienceMs, () => this.#socket.destroy());
    await this.#ended;
  }
}
