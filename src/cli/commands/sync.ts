import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
export function configure(command: Command, cli: Cli): void {
  command.action(() => cli.err('not yet\n'));
}
