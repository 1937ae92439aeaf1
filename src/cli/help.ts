import { type Command, Help } from 'commander';
import { documentText } from '@updraft/view/document';
import type { Cli } from './cli.ts';
import { withCommandName } from './text/command-name.ts';

/** Longer lines are hard to read, however wide the terminal is. */
const maxWidth = 100;

const plain = new Help();

/** How every command's help is laid out: what it does, arguments, options, examples, where to read more. */
export function configureHelp(root: Command, cli: Cli): void {
  root
    .helpOption('-h, --help', 'show this help')
    .configureOutput({ getOutHelpWidth: () => Math.min(cli.columns, maxWidth) })
    .configureHelp({
      minWidthToWrap: 20,
      // `updraft help COMMAND` works too, but listing `--help` is enough.
      visibleCommands: (command) => plain.visibleCommands(command).filter((one) => one.name() !== 'help'),
      subcommandTerm: (command) => command.name(),
      formatHelp: (command, helper) =>
        `${plain.formatHelp.call(helper, command, helper)}\n${examplesText(command, helper, cli.name)}`,
    });
}

/** The help of a command, besides its arguments and options. */
export interface CommandHelp {
  examples: (readonly [command: string, what: string])[];
  /** The page of `docs/` about it, besides its section in `docs/commands.md`. */
  page?: string | undefined;
}

const helps = new WeakMap<Command, CommandHelp>();

/** The examples of a command, and its page, or else that of the command above it. */
export function helpOf(command: Command): CommandHelp {
  const { examples = [], page } = helps.get(command) ?? {};
  return { examples, page: page ?? (command.parent === null ? undefined : helpOf(command.parent).page) };
}

/** Adds to a command what its help shows besides arguments and options: each example with its effect behind a `#`. */
export function addHelp(command: Command, page: string | undefined, examples: readonly string[]): Command {
  const pairs = examples.map((line) => line.split(/ +# /));
  helps.set(command, { examples: pairs.map(([example = '', what = '']) => [example, what]), page });
  return command;
}

/** A command below another one, with the page of that one; `command-list.ts` has the outermost ones. */
export const subcommand = (
  above: Command,
  name: string,
  what: string,
  examples: readonly string[],
): Command => addHelp(describe(above.command(name), what), undefined, examples);

/** Sets the line that says what a command does. */
export const describe = (command: Command, what: string): Command =>
  command.summary(what).description(`${what.charAt(0).toUpperCase()}${what.slice(1)}.`);

/** As typed after `updraft`: `mini pool up`. */
const pathOf = (command: Command): string =>
  command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`.trimStart();

function examplesText(command: Command, { helpWidth = 80 }: Help, name: string): string {
  const path = pathOf(command);
  const { examples, page } = helpOf(command);
  const named = examples.map(([line, what]) => [withCommandName(line, name), what] as const);
  const pages = [page?.replace('.md', ''), path === '' ? undefined : `commands#${path.replaceAll(' ', '-')}`];
  const words = pages.flatMap((one) => (one === undefined ? [] : [` ${one}`]));
  const lines = (words.length === 0 ? [''] : words).map((one) =>
    withCommandName(`  updraft docs${one}`, name),
  );
  const shown = named.length === 0 ? [] : ['Examples:', { commands: named }, ''];
  return documentText([...shown, 'Read more:', ...lines], helpWidth);
}
