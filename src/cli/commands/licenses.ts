import type { Command } from 'commander';
import { readAsset } from '../../base/assets.ts';
import type { Cli } from '../cli.ts';

export function configure(command: Command, cli: Cli): void {
  command.action(async () => cli.out((await readAsset('LICENSES.txt')) ?? ''));
}
