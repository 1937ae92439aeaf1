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
  /** Of the outermost commands, `command-list.ts` says it. */
  what?: string;
  /** The page of `docs/` about it, besides its section in `docs/commands.md`. */
  page?: string;
  examples: readonly (readonly [command: string, what: string])[];
}

const helps = new WeakMap<Command, CommandHelp>();

/** The examples of a command, and its page. */
export const helpOf = (command: Command): CommandHelp => helps.get(command) ?? { examples: [] };

/** Adds to a command what its help shows besides arguments and options. */
export function addHelp(command: Command, help: CommandHelp): Command {
  helps.set(command, help);
  return help.what === undefined ? command : describe(command, help.what);
}

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
