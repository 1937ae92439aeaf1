import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Env } from '../base/env.ts';
import { Fault } from '../fault/fault.ts';

/** A connection without an answer ends after three of these. */
const aliveSeconds = 15;

interface Connection {
  child: ChildProcessByStdio<Writable, Readable, Readable>;
  lines: AsyncIterator<string>;
  /** Resolves with its standard error when the process has ended. */
  ended: Promise<string>;
}

/**
 * A shell on another machine over the user's own `ssh` and its configuration; commands run one after another. After a
 * lost connection, the next command reconnects without asking for a password, because the user may be away.
 */
export class RemoteShell {
  readonly #host: string;
  readonly #env: Env;
  #connection: Connection | undefined;
  #wasLost = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(host: string, env: Env) {
    // A name with a leading hyphen would be an option of ssh.
    if (!/^[A-Za-z0-9_][\w.@:%-]*$/.test(host))
      throw new Fault('usage', `"${host}" is not a host name`, {
        about: host,
        fix: 'write HOST:FOLDER, with HOST as in `ssh HOST`',
      });
    this.#host = host;
    this.#env = env;
  }

  /** The lines that a command prints. Names must be quoted; the command must not read standard input. */
  run(command: string): Promise<string[]> {
    const turn = this.#last.catch(() => undefined).then(() => this.#ask(command));
    this.#last = turn;
    return turn;
  }

  async #ask(command: string): Promise<string[]> {
    const connection = (this.#connection ??= connect(this.#host, this.#env, this.#wasLost));
    const end = `end-${randomBytes(9).toString('hex')}`;
    connection.child.stdin.write(`{ ${command}\n} </dev/null; echo; echo ${end}\n`);
    const lines: string[] = [];
    for (;;) {
      const { value, done } = (await connection.lines.next()) as IteratorResult<string, undefined>;
      if (done === true) throw await this.#gone(connection);
      if (value === end) return lines.slice(0, lines.at(-1) === '' ? -1 : undefined);
      lines.push(value);
    }
  }

  async #gone({ ended }: Connection): Promise<Fault> {
    const said = (await ended).trim();
    this.#connection = undefined;
    this.#wasLost = true;
    return new Fault('pool-unreachable', `no connection to ${this.#host}${said === '' ? '' : `: ${said}`}`, {
      about: this.#host,
      fix: `check that \`ssh ${this.#host}\` works`,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection?.child.stdin.end();
    this.#connection?.child.kill();
    await this.#connection?.ended;
  }
}

function connect(host: string, env: Env, isAgain: boolean): Connection {
  const alive = ['-o', `ServerAliveInterval=${aliveSeconds}`];
  const unasked = isAgain ? ['-o', 'BatchMode=yes'] : [];
  // ssh asks for passwords on the terminal itself, not on these streams.
  const child = spawn('ssh', ['-T', ...alive, ...unasked, '--', host, 'exec sh'], {
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let said = '';
  child.stdin.on('error', () => undefined);
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-2000);
  });
  const ended = new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(said + error.message));
    child.on('close', () => resolve(said));
  });
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator](), ended };
}
