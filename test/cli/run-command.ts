import { Command } from 'commander';
import { systemClock } from '@updraft/base';
import type { Cli } from '../../src/cli/cli.ts';
import { buildProgram } from '../../src/cli/command-line.ts';

interface Said {
  out: string;
  err: string;
}

/** Runs one command with a fake `Cli` and returns what it printed; rethrows what it throws. */
export async function runCommand(
  { configure }: { configure: (command: Command, cli: Cli) => void },
  args: string[],
  context: Partial<Cli> & { cwd: string },
): Promise<Said> {
  const said: Said = { out: '', err: '' };
  const cli: Cli = {
    env: {},
    clock: systemClock,
    version: '0.0.0',
    name: 'updraft',
    out: (text) => void (said.out += text),
    err: (text) => void (said.err += text),
    stdin: () => ReadableStream.from<Uint8Array>([]),
    outBytes: (bytes) => Promise.resolve(void (said.out += bytes.toString('latin1'))),
    outIsTerminal: false,
    errIsTerminal: false,
    columns: 80,
    rows: 24,
    color: false,
    signal: new AbortController().signal,
    ask: undefined,
    self: [],
    program: () => buildProgram(cli, 'all'),
    uid: 0,
    pid: 0,
    platform: 'linux',
    kill: () => undefined,
    ...context,
  };
  const command = new Command('test').exitOverride();
  command.configureOutput({ writeOut: (text) => cli.out(text), writeErr: (text) => cli.err(text) });
  configure(command, cli);
  await command.parseAsync(args, { from: 'user' });
  return said;
}
