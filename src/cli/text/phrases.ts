import type { Cli } from '../cli.ts';

/** A command that may come next and what it does; false or undefined where it does not fit. */
type NextCommand = readonly [command: string, what: string] | false | undefined;

/** Ends a command with what the user may want next: talk, so it goes to stderr. */
export function nextCommands(cli: Cli, mayFit: readonly NextCommand[]): void {
  const next = mayFit.filter((one) => one !== false && one !== undefined);
  const width = cli.errIsTerminal ? cli.columns : Number.POSITIVE_INFINITY;
  cli.err(`\nnext:\n${commandLines(next, width).join('\n')}\n`);
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
      ? [`  ${command}`, ...wrap(what, width, '      ', '      ')]
      : [`  ${command.padEnd(longest)}  ${what}`],
  );
}

/** A sentence as lines of at most `width` characters, unless a word is longer; `first` and `rest` begin them. */
export function wrap(text: string, width: number, first: string, rest: string): string[] {
  const lines: string[] = [];
  let line = first;
  for (const word of text.split(' ')) {
    const isEmpty = line === first || line === rest;
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line);
      line = rest + word;
    } else line = isEmpty ? line + word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Whether the user says yes; undefined where nobody can be asked. */
export async function askYesNo(cli: Cli, question: string): Promise<boolean | undefined> {
  const said = await cli.ask?.(`${question} [y/N] `);
  return said === undefined ? undefined : /^y(es)?$/i.test(said.trim());
}

const maxParts = 8;

/** Jobs by their ids, in order; neighbours are told by the first and the last: `0001, 0004 to 0009 and 12 more`. */
export function jobList(ids: readonly string[]): string {
  const parts: { first: string; last: string; jobs: number }[] = [];
  for (const id of ids) {
    const part = parts.at(-1);
    if (part !== undefined && isNext(part.last, id)) {
      part.last = id;
      part.jobs += 1;
    } else parts.push({ first: id, last: id, jobs: 1 });
  }
  const shown = parts.slice(0, maxParts);
  const more = ids.length - shown.reduce((sum, { jobs }) => sum + jobs, 0);
  return `${shown.map(partText).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Ids of a run are numbers; those of an event log, as `12.3`, are listed one by one. */
const isNext = (before: string, id: string): boolean =>
  /^\d+$/.test(before) && /^\d+$/.test(id) && Number(id) === Number(before) + 1;

function partText({ first, last, jobs }: { first: string; last: string; jobs: number }): string {
  if (jobs < 3) return jobs === 1 ? first : `${first}, ${last}`;
  return `${first} to ${last}`;
}
