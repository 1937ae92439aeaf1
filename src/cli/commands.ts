import path from 'node:path';
import { Command } from 'commander';
import type { Cli } from './cli.ts';
import { groups } from './help-texts.ts';
import { configureHelp, describe } from './help.ts';

/** A command is loaded when it is used, so that `updraft status` does not load the rest. */
type Configure = (command: Command, cli: Cli) => void;

/** How a command is set up: each file of `commands/` exports `configure`. */
export async function configureOf(name: string): Promise<Configure> {
  // `.ts` in a checkout, `.js` in the package.
  const file = `./commands/${name}${path.extname(import.meta.filename)}`;
  return ((await import(file)) as { configure: Configure }).configure;
}

/** The program with all its commands, of which only the wanted ones (or `'all'`) are loaded. */
export async function buildProgram(cli: Cli, wanted: readonly string[] | 'all'): Promise<Command> {
  const root = new Command('updraft')
    .version(cli.version)
    .showHelpAfterError('(add --help for what this command takes)')
    .showSuggestionAfterError()
    .exitOverride();
  configureHelp(root, cli);
  for (const [heading, names] of Object.entries(groups))
    for (const name of names) {
      const command = root.command(name).helpGroup(heading).exitOverride();
      if (wanted === 'all' || wanted.includes(name)) (await configureOf(name))(command, cli);
    }
  describe(root);
  root
    .command('_supervise', { hidden: true })
    .argument('<folder>')
    .action(async (folder: string) => (await import('../pool/supervise-run.ts')).superviseRun(folder, cli));
  return root;
}
