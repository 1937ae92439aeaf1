import type { Command } from 'commander';
import { printable, shellQuote } from '@updraft/base';
import { type Document, documentText, proseWidth } from '@updraft/view/document';
import { type Cli, drawErr } from '../cli.ts';
import { withCommandName } from './command-name.ts';

/** A command that may come next and what it does; false or undefined where it does not fit. */
export type NextCommand = readonly [command: string, what: string] | false | undefined;

/** Ends a command with the commands that the user may want next, on stderr. */
export function nextCommands(cli: Cli, mayFit: readonly NextCommand[]): void {
  const next = mayFit.filter((one) => one !== false && one !== undefined);
  const named = next.map(([command, what]) => [withCommandName(command, cli.name), what] as const);
  cli.err(documentText(['', 'next:', { commands: named }], errWidth(cli)));
}

/** Prints what a command found: a page and the commands that may come next, or for a program its data, if given. */
export function printPage(
  cli: Cli,
  page: Document,
  next: readonly NextCommand[] = [],
  data?: object | false,
): void {
  if (data) {
    printJson(cli, data);
    return;
  }
  cli.out(documentText(page, outWidth(cli)));
  if (next.length > 0) nextCommands(cli, next);
}

/** A line of JSON, for programs. */
export const printJson = (cli: Cli, data: object): void => cli.out(`${JSON.stringify(data)}\n`);

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

/** The same for sentences on stdout. */
export const textWidth = (cli: Cli): number => proseWidth(outWidth(cli));

/** Whether the user says yes; undefined where there is no terminal. */
export async function askYesNo(cli: Pick<Cli, 'ask'>, question: string): Promise<boolean | undefined> {
  const said = await cli.ask?.(`${question} [y/N] `);
  return said === undefined ? undefined : /^y(es)?$/i.test(said.trim());
}

/** Prints lines; transient ones are overwritten on a terminal, and left out elsewhere. */
export function progressLine(cli: Cli): (line: string, transient?: boolean) => void {
  let open = false;
  return (line, transient = false) => {
    const clear = open ? '\r\x1b[K' : '';
    const safe = printable(line);
    if (!transient) drawErr(cli, `${clear}${safe}\n`);
    else if (cli.errIsTerminal) drawErr(cli, `\r\x1b[K${safe.slice(0, Math.max(20, cli.columns - 1))}`);
    open = transient && cli.errIsTerminal;
  };
}
