import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Env } from '../base/env.ts';
import { Fault } from '../fault/fault.ts';

/**
 * A shell on another machine, over the user's own `ssh`: one connection, made as the user's configuration says, on
 * which one command after the other is run.
 */
export class RemoteShell {
  readonly #host: string;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<void>;
  #said = '';
  #last: Promise<unknown> = Promise.resolve();

  constructor(host: string, env: Env) {
    // A name that begins with a hyphen would be an option of ssh.
    if (!/^[A-Za-z0-9_][\w.@:%-]*$/.test(host))
      throw new Fault('usage', `"${host}" is not the name of a machine`, {
        about: host,
        fix: 'say HOST:FOLDER, with HOST as you would write it behind `ssh`',
      });
    this.#host = host;
    // Passwords are asked for on the terminal itself: ssh does not need these streams for it.
    const child = spawn('ssh', ['-T', '--', host, 'exec sh'], { env, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child = child;
    child.stdin.on('error', () => undefined);
    child.stderr.on('data', (chunk: Buffer) => {
      this.#said = (this.#said + chunk.toString()).slice(-2000);
    });
    this.#ended = new Promise((resolve) => {
      child.on('error', (error) => {
        this.#said += error.message;
        resolve();
      });
      child.on('close', () => resolve());
    });
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /** The lines a command prints. Names in it must be quoted already; it must read nothing. */
  run(command: string): Promise<string[]> {
    const turn = this.#last.catch(() => undefined).then(() => this.#ask(command));
    this.#last = turn;
    return turn;
  }

  async #ask(command: string): Promise<string[]> {
    const end = `end-${randomBytes(9).toString('hex')}`;
    this.#child.stdin.write(`{ ${command}\n} </dev/null; echo; echo ${end}\n`);
    const lines: string[] = [];
    for (;;) {
      const { value, done } = (await this.#lines.next()) as IteratorResult<string, undefined>;
      if (done === true) throw await this.#gone();
      if (value === end) return lines.slice(0, lines.at(-1) === '' ? -1 : undefined);
      lines.push(value);
    }
  }

  async #gone(): Promise<Fault> {
    await this.#ended;
    const said = this.#said.trim();
    return new Fault('pool-unreachable', `no connection to ${this.#host}${said === '' ? '' : `: ${said}`}`, {
      about: this.#host,
      fix: `see whether \`ssh ${this.#host}\` works`,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end();
    this.#child.kill();
    await this.#ended;
  }
}
