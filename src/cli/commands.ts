import type { Command } from 'commander';
import type { Cli } from './cli.ts';

interface Entry {
  summary: string;
  /** Loaded when asked for, so that `updraft status` does not pay for the rest. */
  load: () => Promise<{ configure: (command: Command, cli: Cli) => void }>;
}

/** Every command, in the order of the help page. Each file of `commands/` exports `configure`. */
export const commands: Record<string, Entry> = {};
