import { Command } from 'commander';
import type { Cli } from './cli.ts';
import { commands } from './commands.ts';

/** The program with all its commands, of which only those asked for (or `'all'`) are loaded. */
export async function buildProgram(cli: Cli, wanted: readonly string[] | 'all'): Promise<Command> {
  const root = new Command('updraft')
    .description('Train PyTorch models on high-throughput pools and lose none of it.')
    .version(cli.version)
    .showHelpAfterError('(add --help for what this command takes)')
    .showSuggestionAfterError()
    .exitOverride();
  for (const [name, { hidden = false, summary, load }] of Object.entries(commands)) {
    const command = root.command(name, { hidden });
    command.summary(summary).description(summary).exitOverride();
    if (wanted === 'all' || wanted.includes(name)) (await load()).configure(command, cli);
  }
  return root;
}
