import { type Command, Help } from 'commander';
import { wrap } from '../base/text-table.ts';
import type { Cli } from './cli.ts';
import { helpTexts } from './help-texts.ts';
import { commandLines } from './text/phrases.ts';

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
        `${plain.formatHelp.call(helper, command, helper)}\n${examplesText(command, helper)}`,
    });
}

/** Gives a command and its subcommands their line of `helpTexts`. */
export function describe(command: Command): void {
  const { what } = helpTexts[pathOf(command)] ?? {};
  if (what !== undefined) command.summary(what).description(sentence(what));
  for (const sub of command.commands) describe(sub);
}

/** As typed after `updraft`: `mini pool up`. */
const pathOf = (command: Command): string =>
  command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`.trimStart();

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function examplesText(command: Command, { helpWidth = 80 }: Help): string {
  const path = pathOf(command);
  const { examples, page } = helpTexts[path] ?? {};
  const more = path === '' ? 'docs/commands.md' : `docs/commands.md#${path.replaceAll(' ', '-')}`;
  return [
    ...(examples === undefined ? [] : ['Examples:', ...commandLines(examples, helpWidth), '']),
    ...wrap(`${page === undefined ? '' : `docs/${page}, `}${more}`, helpWidth, 'Read more: ', '  '),
    '',
  ].join('\n');
}
