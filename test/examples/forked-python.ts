import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

interface Script {
  args: string[];
  folder: string;
  env: NodeJS.ProcessEnv;
}

/** As of a child process. */
export interface RunningScript {
  stdout: Readable;
  stderr: Readable;
  kill: (signal: NodeJS.Signals) => void;
  /** The exit code, when all output has come. */
  closed: Promise<number | null>;
}

/** Starts scripts in forks of one Python that has imported modules. */
export class ForkedPython {
  readonly #home = mkdtempSync(path.join(os.tmpdir(), 'updraft-forks-'));
  readonly #python;
  #scripts = 0;

  constructor(python: string, modules: string[], env: NodeJS.ProcessEnv) {
    const program = path.join(import.meta.dirname, 'forks.py');
    this.#python = spawn(python, ['-B', program, ...modules], { env, stdio: ['pipe', 'ignore', 'inherit'] });
  }

  stop(): void {
    this.#python.stdin.end();
    rmSync(this.#home, { recursive: true, force: true });
  }

  start(script: Script): RunningScript {
    const number = ++this.#scripts;
    const socket = (name: string): string => path.join(this.#home, `${number}.${name}`);
    const [control, stdout, stderr] = ['control', 'stdout', 'stderr'].map((name) => accept(socket(name)));
    const sockets = { control: socket('control'), stdout: socket('stdout'), stderr: socket('stderr') };
    this.#python.stdin.write(`${JSON.stringify({ ...script, ...sockets })}\n`);
    const started = new Promise<string>((resolve) => control!.once('data', resolve));
    const status = started.then(async () => Number(await text(control!)));
    const ends = [stdout!, stderr!].map((stream) => new Promise((resolve) => stream.on('end', resolve)));
    return {
      stdout: stdout!,
      stderr: stderr!,
      kill: (signal) => void started.then((pid) => endIfRunning(Number(pid), signal)),
      closed: Promise.all([status, ...ends]).then(([code]) => code),
    };
  }
}

/** What the first connection to a socket brings. */
function accept(socket: string): Readable {
  const stream = new PassThrough({ encoding: 'utf8' });
  const server = net.createServer((connection) => {
    server.close();
    connection.pipe(stream);
  });
  server.listen(socket);
  return stream;
}

function endIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // gone already
  }
}
