import { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { commands } from '../commands.ts';

/** What may stand after a command: its subcommands and its options, each with a line about it. */
export interface CommandWords {
  /** As in `/mini/pool`; empty for the program itself. */
  at: string;
  subcommands: Word[];
  options: Word[];
}

export interface Word {
  word: string;
  about: string;
}

/** Every command that people may type, from the same definitions that parse them. */
export async function commandTree(cli: Cli): Promise<CommandWords[]> {
  const root = new Command('updraft').version(cli.version);
  for (const [name, { hidden, summary, load }] of Object.entries(commands)) {
    if (hidden === true) continue;
    const command = root.command(name).summary(summary);
    (await load()).configure(command, cli);
  }
  return wordsOf(root, '');
}

function wordsOf(command: Command, at: string): CommandWords[] {
  const help = { word: '--help', about: 'what this command takes' };
  const options = command.options.flatMap(({ long, description, hidden }) =>
    long === undefined || hidden ? [] : [{ word: long, about: description }],
  );
  const subcommands = command.commands.map((one) => ({ word: one.name(), about: one.summary() }));
  return [
    { at, subcommands, options: [...options, help] },
    ...command.commands.flatMap((one) => wordsOf(one, `${at}/${one.name()}`)),
  ];
}
