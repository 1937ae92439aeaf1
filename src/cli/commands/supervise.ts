import type { Command } from 'commander';
import { superviseRun } from '../../pool/supervise-run.ts';
import type { Cli } from '../cli.ts';

/** Not for people: started by `run` and `submit`, in a session of its own. */
export function configure(command: Command, cli: Cli): void {
  command.argument('<folder>').action((folder: string) => superviseRun(folder, cli));
}
