import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import type { Clock, Env } from '@updraft/base';

/** What follows the number of a reply: nothing, as many bytes as the number says, or, unless it is below 0, a line. */
type Rest = 'nothing' | 'bytes' | 'line';

interface Reply {
  /** 0 or more if it was done; below 0, the reason why not. */
  code: number;
  text: string;
}

/** No reply that we request is near this size; anything larger is not the protocol we know. */
const maxBytes = 4 << 20;

/** Parses a stream of chirp replies, which come in the order of the requests. */
export class ChirpAnswers {
  readonly #questions: { rest: Rest; answer: (answer: Reply | undefined) => void }[] = [];
  #received = Buffer.alloc(0);

  /** The reply to the next request; undefined if the connection breaks first. */
  next(rest: Rest): Promise<Reply | undefined> {
    return new Promise((answer) => this.#questions.push({ rest, answer }));
  }

  /** False if these cannot be replies to what was asked: then nothing that follows can be understood. */
  receive(bytes: Buffer): boolean {
    this.#received = Buffer.concat([this.#received, bytes]);
    for (let question = this.#questions[0]; question !== undefined; question = this.#questions[0]) {
      const found = parseReply(this.#received, question.rest);
      if (found === undefined) return this.#received.length <= maxBytes;
      if (Number.isNaN(found.answer.code)) return false;
      this.#received = this.#received.subarray(found.length);
      this.#questions.shift();
      question.answer(found.answer);
    }
    return this.#received.length === 0;
  }

  end(): void {
    for (const { answer } of this.#questions.splice(0)) answer(undefined);
  }
}

/** The first reply in what was received and its length; undefined while it is incomplete. */
function parseReply(received: Buffer, rest: Rest): { answer: Reply; length: number } | undefined {
  const end = received.indexOf('\n');
  if (end < 0) return undefined;
  const line = received.toString('latin1', 0, end);
  const code = /^-?\d+$/.test(line) ? Number(line) : Number.NaN;
  const start = end + 1;
  if (Number.isNaN(code)) return { answer: { code, text: '' }, length: start };
  const bytes = rest === 'bytes' ? Math.max(code, 0) : 0;
  // 0 while the end of a line is missing.
  const length = rest === 'line' && code >= 0 ? received.indexOf('\n', start) + 1 : start + bytes;
  if (length < start || received.length < length) return undefined;
  return { answer: { code, text: received.toString('utf8', start, length) }, length };
}

/** HTCondor accepts lines up to 5120 bytes; longer ones are not worth a line in a log. */
const maxLine = 4000;
/** How long to wait for the access point to answer. */
const timeoutMs = 5000;

/**
 * The connection to the access point that HTCondor keeps open for every job: lines appear in the job's event log at
 * once, and files in the submit folder can be read and written. Nothing depends on it: if it is missing or breaks,
 * only these lines and notes are lost.
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
      if (!this.#answers.receive(bytes)) socket.destroy();
    });
    socket.once('close', () => this.#answers.end());
    void this.#send(`cookie ${cookie}\n`, 'nothing');
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
    if (Buffer.byteLength(escaped) <= maxLine) void this.#send(`ulog ${escaped}\n`, 'nothing');
  }

  /**
   * Sends a request and returns the reply; undefined if none comes in time. Arguments hold no blanks and no
   * backslashes; `payload` follows the line unchanged.
   */
  async ask(args: string[], rest: Rest = 'nothing', payload = ''): Promise<Reply | undefined> {
    const over = new AbortController();
    const late = this.#clock.sleep(timeoutMs, over.signal).catch(() => undefined);
    try {
      return await Promise.race([
        this.#send(`${args.join(' ')}\n${payload}`, rest),
        late.then(() => undefined),
      ]);
    } finally {
      over.abort();
    }
  }

  #send(text: string, rest: Rest): Promise<Reply | undefined> {
    if (!this.#socket.writable) return Promise.resolve(undefined);
    this.#socket.write(text);
    return this.#answers.next(rest);
  }

  /** Waits, up to the timeout, until everything was sent. */
  async close(): Promise<void> {
    this.#socket.ref();
    this.#socket.end();
    this.#socket.setTimeout(timeoutMs, () => this.#socket.destroy());
    await this.#ended;
  }
}
