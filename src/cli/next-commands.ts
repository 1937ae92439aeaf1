import type { Cli } from './cli.ts';

/** Ends a command with what the user may want next: talk, so it goes to stderr. */
export function nextCommands(cli: Cli, next: readonly (readonly [command: string, what: string])[]): void {
  const width = Math.max(...next.map(([command]) => command.length));
  cli.err('\nnext:\n');
  for (const [command, what] of next) cli.err(`  ${command.padEnd(width)}  ${what}\n`);
}
