import { type Command, Help } from 'commander';
import type { Cli } from './cli.ts';
import { helpTexts } from './help-texts.ts';
import { withCommandName } from './text/command-name.ts';
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
        `${plain.formatHelp.call(helper, command, helper)}\n${examplesText(command, helper, cli.name)}`,
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

function examplesText(command: Command, { helpWidth = 80 }: Help, name: string): string {
  const path = pathOf(command);
  const { examples = [], page } = helpTexts[path] ?? {};
  const named = examples.map(([line, what]) => [withCommandName(line, name), what] as const);
  const pages = [page?.replace('.md', ''), path === '' ? undefined : `commands#${path.replaceAll(' ', '-')}`];
  const words = pages.flatMap((one) => (one === undefined ? [] : [` ${one}`]));
  return [
    ...(named.length === 0 ? [] : ['Examples:', ...commandLines(named, helpWidth), '']),
    'Read more:',
    ...(words.length === 0 ? [''] : words).map((one) => withCommandName(`  updraft docs${one}`, name)),
    '',
  ].join('\n');
}
