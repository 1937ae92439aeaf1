import readline from 'node:readline/promises';
import { CommanderError, Command } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { safeOutput, steadyClock, systemClock, wrapLines } from '@updraft/base';
import { asFault, Fault, kinds } from '@updraft/account/fault';
import type { Cli } from './cli.ts';
import { withMiniPool } from './mini/state-folder.ts';
import { printFault, systemFault } from './print-fault.ts';
import { commandName, withCommandName } from './text/command-name.ts';
import { isUtf8, toAscii } from './text/glyphs.ts';
import { outWidth } from './text/phrases.ts';
import { terminalOf } from './text/terminal.ts';
import { type CommandName, groups } from './command-list.ts';
import { addHelp, configureHelp, describe } from './help.ts';
import type { Plan } from '../job/plan.ts';

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

type Configure = (command: Command, cli: Cli) => void;

/** A command is loaded when it is used, so that `updraft status` does not load the rest. */
const files: Record<CommandName, () => Promise<{ configure: Configure }>> = {
  init: () => import('./commands/init.ts'),
  check: () => import('./commands/check.ts'),
  plan: () => import('./commands/plan.ts'),
  rehearse: () => import('./commands/rehearse.ts'),
  submit: async () => ({ configure: (await import('./commands/run.ts')).configureSubmit }),
  run: () => import('./commands/run.ts'),
  status: () => import('./commands/status.ts'),
  watch: async () => ({ configure: (await import('./commands/run.ts')).configureWatch }),
  logs: () => import('./commands/logs.ts'),
  why: () => import('./commands/why.ts'),
  retry: () => import('./commands/retry.ts'),
  stop: () => import('./commands/stop.ts'),
  shell: () => import('./commands/shell.ts'),
  runs: () => import('./commands/runs.ts'),
  results: () => import('./commands/results.ts'),
  compare: () => import('./commands/compare.ts'),
  report: () => import('./commands/report.ts'),
  bundle: () => import('./commands/bundle.ts'),
  dashboard: () => import('./commands/dashboard.ts'),
  adopt: () => import('./commands/adopt.ts'),
  get: () => import('./commands/get.ts'),
  put: () => import('./commands/put.ts'),
  ls: async () => ({ configure: (await import('./commands/stat.ts')).configureList }),
  stat: () => import('./commands/stat.ts'),
  cat: async () => ({ configure: (await import('./commands/get.ts')).configureCat }),
  rm: () => import('./commands/rm.ts'),
  login: () => import('./commands/login.ts'),
  stage: () => import('./commands/stage.ts'),
  env: () => import('./commands/env.ts'),
  doctor: () => import('./commands/doctor.ts'),
  demo: () => import('./commands/demo.ts'),
  mini: () => import('./commands/mini.ts'),
  docs: () => import('./commands/docs.ts'),
  licenses: async () => ({ configure: (await import('./commands/docs.ts')).configureLicenses }),
  completion: () => import('./commands/completion.ts'),
};

/** How a command is set up: each file of `commands/` exports `configure`. */
export async function configureOf(name: string): Promise<Configure> {
  return (await files[name as CommandName]()).configure;
}

/** `mini` of `mini pool up`. */
function outermost(command: Command): Command {
  const { parent } = command;
  return parent === null || parent.parent === null ? command : outermost(parent);
}

/** The program with all its commands, of which only the wanted ones (or `'all'`) are loaded. */
export async function buildProgram(cli: Cli, wanted: readonly string[] | 'all'): Promise<Command> {
  const root = new Command('updraft')
    .version(cli.version)
    .showHelpAfterError('(add --help for what this command takes)')
    .showSuggestionAfterError()
    .exitOverride();
  root.hook('preAction', (_, action) => assertSystem(outermost(action).name(), cli.platform));
  configureHelp(root, cli);
  addHelp(describe(root, 'train PyTorch models on high-throughput pools and lose none of it'), undefined, [
    'updraft init train.py  # write a job file for a script',
    'updraft check          # find what would fail',
    'updraft run            # queue the jobs and watch them',
  ]);
  for (const [heading, commands] of Object.entries(groups))
    for (const [name, what] of Object.entries(commands)) {
      const command = describe(root.command(name), what).helpGroup(heading).exitOverride();
      if (wanted === 'all' || wanted.includes(name)) (await configureOf(name))(command, cli);
    }
  root
    .command('_supervise', { hidden: true })
    .argument('<folder>')
    .action(async (folder: string) => {
      const renewTokens = async (plan: Plan): Promise<void> =>
        await (await import('./object/login.ts')).renewTokensOf(cli, plan);
      await (await import('../pool/supervise-run.ts')).superviseRun(folder, { ...cli, renewTokens });
    });
  return root;
}

/** Commands that start or end processes on this machine, which Updraft identifies by Linux's /proc. */
const linuxOnly = ['run', 'submit', 'rehearse', 'retry', 'stop', 'shell', 'demo', 'mini', '_supervise'];

/** Refuses a command that cannot work on this system, before it does anything. Pure. */
export function assertSystem(command: string, platform: NodeJS.Platform): void {
  if (platform === 'win32')
    throw new Fault('pool-unreachable', 'Updraft does not run on Windows itself', {
      fix: 'install WSL (`wsl --install`), and Updraft in it: there everything works as on Linux',
    });
  if (platform === 'linux' || !linuxOnly.includes(command)) return;
  const system = platform === 'darwin' ? 'macOS' : platform;
  throw new Fault('pool-unreachable', `updraft ${command} needs Linux, and this is ${system}`, {
    fix:
      'log in to an access point with ssh, and run it there; init, check, plan, report, why, bundle, adopt ' +
      `and dashboard work on ${system} too`,
  });
}
