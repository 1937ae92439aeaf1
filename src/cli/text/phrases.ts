import type { Command } from 'commander';
import { shellQuote, wrap } from '@updraft/base';
import type { Cli } from '../cli.ts';
import { withCommandName } from './command-name.ts';

/** A command that may come next and what it does; false or undefined where it does not fit. */
export type NextCommand = readonly [command: string, what: string] | false | undefined;

/** Ends a command with the commands that the user may want next, on stderr. */
export function nextCommands(cli: Cli, mayFit: readonly NextCommand[]): void {
  const next = mayFit.filter((one) => one !== false && one !== undefined);
  const named = next.map(([command, what]) => [withCommandName(command, cli.name), what] as const);
  cli.err(`\nnext:\n${commandLines(named, errWidth(cli)).join('\n')}\n`);
}

/** Command lines with what each does: beside it, or below it where one would be too wide. */
export function commandLines(
  commands: readonly (readonly [command: string, what: string])[],
  width: number,
): string[] {
  const longest = Math.max(...commands.map(([command]) => command.length));
  const isNarrow = commands.some(([, what]) => longest + what.length + 4 > width);
  return commands.flatMap(([command, what]) =>
    isNarrow
      ? [...brokenCommand(command, width), ...wrap(what, width, '      ', '      ')]
      : [`  ${command.padEnd(longest)}  ${what}`],
  );
}

/** A command that a shell still takes as one: too long a line ends with a backslash. */
function brokenCommand(command: string, width: number): string[] {
  const lines = [' '];
  for (const word of command.match(/(?:--[\w-]+ (?!-))?(?:'[^']*'|\\.|\S)+/g) ?? []) {
    const line = `${lines.at(-1)} ${word}`;
    // The last word needs no room for a backslash.
    const room = command.endsWith(word) ? width : width - 2;
    if (line.length <= room || lines.at(-1) === ' ') lines[lines.length - 1] = line;
    else lines.push(`    ${word}`);
  }
  return lines.map((line, at) => (at < lines.length - 1 ? `${line} \\` : line));
}

/** The options that a command was given, as words of a command line: what comes next is about the same. */
export const givenOptions = (command: Command): string =>
  command.options
    .filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli')
    .map((option) => {
      const value: unknown = command.getOptionValue(option.attributeName());
      const words = value === true ? [] : [value].flat().map((one) => shellQuote(String(one)));
      return [option.long, ...words].join(' ');
    })
    .join(' ');

/** The width of stdout, or of stderr. A file or a pipe has none: nothing is wrapped, cut or left out there. */
export const outWidth = ({ outIsTerminal, columns }: Cli): number => (outIsTerminal ? columns : Infinity);
export const errWidth = ({ errIsTerminal, columns }: Cli): number => (errIsTerminal ? columns : Infinity);

/** The same for sentences on stdout: wide enough for one, narrow enough to read. */
export const textWidth = (cli: Cli, width = outWidth(cli)): number =>
  width === Infinity ? width : Math.max(40, Math.min(width, 100));

/** Lines of text beside the label they belong to. */
export function labelledText(rows: readonly (readonly [string, readonly string[]])[], width: number): string {
  const longest = Math.max(...rows.map(([label]) => label.length));
  const lines = rows.flatMap(([label, texts]) =>
    texts.flatMap((text, index) => {
      const [indent = ''] = /^ */.exec(text) ?? [];
      const first = `  ${(index === 0 ? label : '').padEnd(longest)}  ${indent}`;
      return wrap(text.slice(indent.length), width, first, ' '.repeat(first.length + 2));
    }),
  );
  return `${lines.join('\n')}\n`;
}

/** Whether the user says yes; undefined where there is no terminal. */
export async function askYesNo(cli: Pick<Cli, 'ask'>, question: string): Promise<boolean | undefined> {
  const said = await cli.ask?.(`${question} [y/N] `);
  return said === undefined ? undefined : /^y(es)?$/i.test(said.trim());
}
