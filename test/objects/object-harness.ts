import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import type { Env } from '@updraft/base';
import type { Cli } from '../../src/cli/cli.ts';
import { configureOf } from '../../src/cli/command-line.ts';
import { printFault } from '../../src/cli/print-fault.ts';
import { asFault, kinds } from '@updraft/account/fault';
import { type MiniFederation, type ServerModel, startFederation } from '@updraft/mini/federation';
import { runCommand } from '../cli/run-command.ts';
import { cliMain, oneFile } from '../programs.ts';

interface Ended {
  exit: number;
  out: string;
  err: string;
}

/** A federation with `/demo` (public), `/private` (tokens) and `/inbox` (writable), and a folder for the user. */
export class ObjectHarness {
  readonly federation: MiniFederation;
  readonly cwd: string;
  readonly #published: string;
  readonly env: Env;

  private constructor(federation: MiniFederation, cwd: string, published: string) {
    this.federation = federation;
    this.cwd = cwd;
    this.#published = published;
    this.env = {
      UPDRAFT_OSDF_HOST: federation.discoveryHost,
      SSL_CERT_FILE: federation.caFile,
      XDG_STATE_HOME: path.join(cwd, '.state'),
      TMPDIR: cwd,
      // Excludes whatever the real user of this machine has there.
      _CONDOR_CREDS: path.join(cwd, 'no-creds'),
      XDG_RUNTIME_DIR: path.join(cwd, 'no-runtime'),
      // Where messages of the program that ships find the name to print for it.
      ...(oneFile === undefined ? {} : { PATH: `${path.dirname(cwd)}:${process.env['PATH']}` }),
    };
  }

  static async open(
    t: TestContext,
    { caches = 2, like }: { caches?: number; like?: ServerModel } = {},
  ): Promise<ObjectHarness> {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-objects-'));
    // The supervisor of a run may still be ending.
    t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
    const published = path.join(folder, 'published');
    for (const name of ['demo', 'private', 'inbox'])
      await mkdir(path.join(published, name), { recursive: true });
    const cwd = path.join(folder, 'user');
    await mkdir(cwd);
    if (oneFile !== undefined) await symlink(oneFile, path.join(folder, 'updraft'));
    const federation = await startFederation({
      caches,
      like,
      namespaces: [
        { prefix: '/demo', folder: path.join(published, 'demo'), public: true },
        { prefix: '/private', folder: path.join(published, 'private'), public: false },
        { prefix: '/inbox', folder: path.join(published, 'inbox'), public: false, writable: true },
      ],
    });
    t.after(() => federation.stop());
    return new ObjectHarness(federation, cwd, published);
  }

  /** Publishes a file; random bytes if only a number is given. */
  async publish(name: string, content: Buffer | string | number): Promise<Buffer> {
    const bytes = typeof content === 'number' ? randomBytes(content) : Buffer.from(content);
    const file = this.published(name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, bytes);
    return bytes;
  }

  published(name: string): string {
    return path.join(this.#published, name);
  }

  at(name: string): string {
    return path.join(this.cwd, name);
  }

  async trouble(...rules: string[]): Promise<void> {
    for (const rule of rules) await this.federation.trouble.add(rule);
  }

  /** A file with a token, and the environment that names it. */
  async tokenEnv(options: Parameters<MiniFederation['issueToken']>[0]): Promise<Env> {
    const file = this.at(`token-${randomBytes(4).toString('hex')}`);
    await writeFile(file, this.federation.issueToken(options), { mode: 0o600 });
    return { BEARER_TOKEN_FILE: file };
  }

  /**
   * Runs a command in this process, as `main` would: failures become messages and an exit code. Where the program that
   * ships is tested, it is started, unless the test replaces a part of it.
   */
  async updraft(words: string[], context: Partial<Cli> = {}): Promise<Ended> {
    return await updraftIn(this, words, context);
  }

  /** The real program, in a separate process. */
  spawn(words: string[], env: Env = {}): ChildProcess {
    return spawnUpdraft(words, this.spawnOptions(env));
  }

  spawnArguments(words: string[]): string[] {
    return programWith(words);
  }

  spawnOptions(env: Env = {}): { cwd: string; env: NodeJS.ProcessEnv } {
    return { cwd: this.cwd, env: { ...process.env, ...this.env, ...env } };
  }
}

const programWith = (words: string[]): string[] =>
  oneFile === undefined ? [process.execPath, cliMain, ...words] : [oneFile, ...words];

function spawnUpdraft(words: string[], options: { cwd: string; env: NodeJS.ProcessEnv }): ChildProcess {
  const [program = '', ...args] = programWith(words);
  return spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Runs a command in a folder, as `ObjectHarness.updraft` does. */
export async function updraftIn(
  { cwd, env }: { cwd: string; env: Env },
  words: string[],
  context: Partial<Cli> = {},
): Promise<Ended> {
  const ours = { ...env, ...context.env };
  if (oneFile !== undefined && Object.keys(context).every((key) => key === 'env'))
    return await ended(spawnUpdraft(words, { cwd, env: { ...process.env, ...ours } }));
  const [name = '', ...args] = words;
  const said: Ended = { exit: 0, out: '', err: '' };
  const cli = {
    out: (text: string) => void (said.out += text),
    err: (text: string) => void (said.err += text),
    outBytes: (bytes: Buffer) => Promise.resolve(void (said.out += bytes.toString('latin1'))),
    cwd,
    ...context,
    env: ours,
  };
  try {
    await runCommand({ configure: await configureOf(name) }, args, cli);
  } catch (thrown) {
    const fault = asFault(thrown);
    printFault(cli as Cli, fault, args.includes('--json'));
    said.exit = (thrown as Error).name === 'CommanderError' ? 2 : kinds[fault.kind].exit;
  }
  return said;
}

/** What a process printed, and how it ended. */
export async function ended(child: ChildProcess): Promise<Ended & { signal: NodeJS.Signals | null }> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on('data', (bytes: Buffer) => void out.push(bytes));
  child.stderr?.on('data', (bytes: Buffer) => void err.push(bytes));
  return await new Promise((resolve) => {
    child.once('close', (code, signal) =>
      resolve({ out: printed(out), err: printed(err), exit: code ?? -1, signal }),
    );
  });
}

/** Text as text, and other bytes one by one. */
function printed(parts: readonly Buffer[]): string {
  const bytes = Buffer.concat(parts);
  return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
}
