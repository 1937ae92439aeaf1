import { Argument, type Command } from 'commander';
import type { Cli } from '../cli.ts';
import { commandTree } from '../completion/command-tree.ts';
import { scripts } from '../completion/scripts.ts';

export function configure(command: Command, cli: Cli): void {
  command
    .addArgument(new Argument('<shell>', 'whose script to print').choices(Object.keys(scripts)))
    .addHelpText(
      'after',
      `
Examples:
  $ eval "$(updraft completion bash)"               in ~/.bashrc
  $ eval "$(updraft completion zsh)"                in ~/.zshrc, after compinit
  $ updraft completion fish | source                in ~/.config/fish/config.fish

Exit codes: 0 printed, 2 another shell.`,
    )
    .action(async (shell: keyof typeof scripts) => {
      cli.out(scripts[shell](commandTree(await cli.program())));
    });
}
