import type { Cli } from '../cli.ts';

/** A count with its word: `1 job`, `10,000 jobs`. */
export function counted(count: number, word: string): string {
  return `${count.toLocaleString('en-US')} ${word}${count === 1 ? '' : 's'}`;
}

/** Ends a command with what the user may want next: talk, so it goes to stderr. */
export function nextCommands(cli: Cli, next: readonly (readonly [command: string, what: string])[]): void {
  const width = Math.max(...next.map(([command]) => command.length));
  const isNarrow = next.some(([, what]) => width + what.length + 4 > cli.columns);
  cli.err('\nnext:\n');
  for (const [command, what] of next)
    cli.err(
      isNarrow && cli.errIsTerminal
        ? `  ${command}\n      ${what}\n`
        : `  ${command.padEnd(width)}  ${what}\n`,
    );
}
