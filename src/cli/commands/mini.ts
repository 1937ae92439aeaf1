import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { configureFederation } from '../mini/federation-commands.ts';
import { configurePool } from '../mini/pool-commands.ts';

export function configure(command: Command, cli: Cli): void {
  configureFederation(command.command('federation'), cli);
  configurePool(command.command('pool'), cli);
}
