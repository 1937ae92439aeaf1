import readline from 'node:readline/promises';
import { CommanderError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { safeOutput, steadyClock, systemClock, wrapLines } from '@updraft/base';
import { asFault, Fault, kinds } from '@updraft/account/fault';
import type { Cli } from './cli.ts';
import { buildProgram } from './commands.ts';
import { withMiniPool } from './mini/state-folder.ts';
import { printFault, systemFault } from './print-fault.ts';
import { commandName, withCommandName } from './text/command-name.ts';
import { isUtf8, toAscii } from './text/glyphs.ts';
import { outWidth } from './text/phrases.ts';
import { terminalOf } from './text/terminal.ts';

/** The process that runs a command line, and how it is started again. */
export interface Started {
  process: NodeJS.Process;
  self: string[];
}

async function createCli({ process, self }: Started, isJson: boolean): Promise<Cli> {
  const started = self.length === 1 ? self[0] : process.argv[1];
  const name = await commandName(started ?? '', process.env);
  /** Programs read JSON and completions: they get our own name. */
  const isForPrograms = isJson || process.argv[2] === 'completion';
  const named = (text: string, width?: number): string => withCommandName(text, cli.name, width);
  /** Files and pipes get the text unchanged; a terminal without UTF-8 gets ASCII. */
  const shown = (text: string, isTerminal: boolean): string =>
    isTerminal && !isUtf8(process.env) ? toAscii(text) : text;

  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => stop.abort(new Fault('interrupted', 'stopped by the user')));
  const terminal = terminalOf(process.stdin, process.stdout);
  const cli: Cli = {
    env: await withMiniPool(process.env),
    cwd: process.cwd(),
    // A change of the system clock must not disturb hours of watching.
    clock: steadyClock(systemClock),
    version: packageJson.version,
    name: isForPrograms ? 'updraft' : name,
    out: (text) => cli.rawOut?.(safeOutput(named(text, outWidth(cli)), isJson)),
    err: (text) => {
      const safe = safeOutput(named(text), isJson);
      cli.rawErr?.(cli.errIsTerminal ? wrapLines(safe, cli.columns) : safe);
    },
    rawOut: (text) => void process.stdout.write(shown(text, process.stdout.isTTY)),
    rawErr: (text) => void process.stderr.write(shown(text, process.stderr.isTTY)),
    stdin: () => stoppableStdin(process, stop.signal),
    outBytes: (bytes) => outBytes(process, bytes),
    outIsTerminal: process.stdout.isTTY,
    errIsTerminal: process.stderr.isTTY,
    terminal,
    columns: terminal?.size().columns ?? (process.stderr.columns || 80),
    rows: terminal?.size().rows ?? 24,
    color: process.stdout.isTTY && process.env['NO_COLOR'] === undefined && process.env['TERM'] !== 'dumb',
    signal: stop.signal,
    ask: process.stdin.isTTY && process.stderr.isTTY ? (question) => ask(process, question) : undefined,
    self,
    program: () => buildProgram(cli, 'all'),
    uid: process.getuid?.() ?? 0,
    pid: process.pid,
    platform: process.platform,
    kill: (pid, signal) => kill(process, pid, signal),
  };
  return cli;
}

/** A read of stdin would outlast the signal that ends the command. */
function stoppableStdin({ stdin }: NodeJS.Process, signal: AbortSignal): AsyncIterable<Uint8Array> {
  signal.addEventListener('abort', () => stdin.destroy(signal.reason as Error), { once: true });
  return stdin;
}

function outBytes(process: NodeJS.Process, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

function kill(process: NodeJS.Process, pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function ask(process: NodeJS.Process, question: string): Promise<string> {
  const terminal = readline.createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question);
  } catch (error) {
    // Ctrl-C and Ctrl-D at the prompt.
    throw new Fault('interrupted', 'stopped by the user', { cause: error });
  } finally {
    terminal.close();
  }
}

/** Runs one command line; the only place that turns a failure into a message and an exit code. */
export async function runCommandLine(started: Started): Promise<number> {
  const { process } = started;
  const argv = process.argv.slice(2);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => outputFailed(process, error));
  const cli = await createCli(started, argv.includes('--json'));
  try {
    const words = argv.filter((word) => !word.startsWith('-'));
    const root = await buildProgram(cli, words.slice(0, words[0] === 'help' ? 2 : 1));
    if (argv.length === 0) root.outputHelp();
    else await root.parseAsync(argv, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (thrown) {
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
    const fault = systemFault(thrown) ?? asFault(thrown);
    printFault(cli, fault, argv.includes('--json'));
    return kinds[fault.kind].exit;
  }
}

/** A closed pipe (`updraft status | head`) is not an error; a full disk is. */
function outputFailed(process: NodeJS.Process, error: NodeJS.ErrnoException): never {
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`updraft: cannot write to stdout: ${error.message}\n`);
  process.exit(error.code === 'ENOSPC' ? kinds['disk-full'].exit : 1);
}
