import type { Command } from 'commander';

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
export const commandTree = (program: Command): CommandWords[] => wordsOf(program, '');

function wordsOf(command: Command, at: string): CommandWords[] {
  const help = { word: '--help', about: 'what this command takes' };
  const options = command.options.flatMap(({ long, description, hidden }) =>
    long === undefined || hidden ? [] : [{ word: long, about: description }],
  );
  const typed = command
    .createHelp()
    .visibleCommands(command)
    .filter((one) => one.name() !== 'help');
  const subcommands = typed.map((one) => ({ word: one.name(), about: one.summary() }));
  return [
    { at, subcommands, options: [...options, help] },
    ...typed.flatMap((one) => wordsOf(one, `${at}/${one.name()}`)),
  ];
}
