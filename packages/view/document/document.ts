import { clip, wrap, wrapLines } from '@updraft/base';
import { fitTable, type FitColumn } from '../tables/fit-table.ts';
import { hiddenNote } from './section-text.ts';

/** Lines of a file, and where they are. Code is cut where it does not fit, other lines are wrapped. */
interface Quote {
  place: string;
  lines: readonly string[];
  isCode?: boolean;
}

/** Texts beside the label they belong to; those that begin with spaces are details. None: not shown. */
export type Fact = readonly [label: string, ...texts: (string | Quote)[]];

/** A command line, and what it does. */
export type NamedCommand = readonly [command: string, what: string];

/** What is wrong by one rule, at some places, and how to fix it; lines to write follow the fix. */
interface Problem {
  rule: string;
  at: readonly (Quote & { message: string })[];
  fix: string;
}

/**
 * A part of a page: sentences (empty for an empty line), the title of what follows, facts below one, a table, what is
 * wrong, or commands to copy. A title below another has a level, which says how bad it is.
 */
export type Block =
  | string
  | { title: string; level?: string }
  | { facts: readonly Fact[]; indent?: '' }
  | { columns: readonly FitColumn[]; rows: readonly (readonly string[])[] }
  | Problem
  | { commands: readonly NamedCommand[] };

/** What a command shows to people. */
export type Document = readonly Block[];

/** Plain text with a final newline, of at most `width` characters a line. */
export const documentText = (document: Document, width: number): string =>
  document.flatMap((block) => blockLines(block, width).map((line) => `${line}\n`)).join('');

/** Several pages as one, with an empty line between two. */
export const joinPages = (pages: readonly Document[]): Document =>
  pages.flatMap((page, at) => (at === 0 ? page : ['', ...page]));

/** What was found, by level. What has only a title is a sentence. */
export const groupedProblems = (
  groups: readonly {
    level: string;
    title: string;
    findings: readonly (Problem['at'][number] & Omit<Problem, 'at'>)[];
  }[],
): Document =>
  groups.flatMap(({ level, title, findings }): Document => {
    const problems = findings.map(({ rule, fix, ...at }) => ({ rule, fix, at: [at] }));
    return ['', problems.length === 0 ? title : { title, level }, ...problems];
  });

function blockLines(block: Block, width: number): string[] {
  if (typeof block === 'string') return [wrapLines(block, proseWidth(width))];
  if ('title' in block) return [wrapLines(block.title, proseWidth(width))];
  if ('facts' in block) return factLines(block.facts, proseWidth(width), block.indent);
  if ('rule' in block) return problemLines(block, proseWidth(width));
  if ('commands' in block) return commandLines(block.commands, width);
  const { head, rows, hidden } = fitTable(block.columns, block.rows, width);
  return [...head, ...rows, ...hiddenNote(hidden).flatMap((note) => ['', ...wrap(note, proseWidth(width))])];
}

/** Wide enough for a sentence, narrow enough to read. */
export const proseWidth = (width: number): number =>
  width === Infinity ? width : Math.max(40, Math.min(width, 100));

function factLines(facts: readonly Fact[], width: number, before = '  '): string[] {
  const shown = facts.filter(({ length }) => length > 1);
  const longest = Math.max(...shown.map(([label]) => label.length));
  return shown.flatMap(([label, ...texts]) =>
    texts.flatMap((text, index) => {
      const start = `${before}${(index === 0 ? label : '').padEnd(longest)}  `;
      if (typeof text !== 'string') return [start + text.place, ...quoteLines(text, start.length, width)];
      const [indent = ''] = /^ */.exec(text) ?? [];
      const first = start + indent;
      return wrap(text.slice(indent.length), width, first, ' '.repeat(first.length + 2));
    }),
  );
}

/** A line that fits stays as it is: it may be of a table. */
function quoteLines({ lines, isCode }: Quote, column: number, width: number): string[] {
  const margin = ' '.repeat(column);
  return lines.flatMap((line) => {
    if (isCode === true && line.startsWith(' ')) return clip(margin + line, width);
    const isWhole = isCode !== true && line.length + column + 2 <= width;
    return isWhole ? `${margin}  ${line}` : wrap(line.trim(), width, `${margin}  `, `${margin}    `);
  });
}

/** One place stands beside the rule, several beside their messages. Lines to write are not broken. */
function problemLines({ rule, at, fix }: Problem, width: number): string[] {
  const quoted = ({ lines }: Quote): string[] =>
    lines.map((line) => `      | ${clip(line, Math.min(width, 108) - 8)}`);
  const column = Math.max(...at.map(({ place }) => place.length)) + 8;
  const said = ({ place, message }: Problem['at'][number]): string[] =>
    wrap(message, width, `      ${place}`.padEnd(column), ' '.repeat(column));
  const [only, ...others] = at;
  const isOne = only !== undefined && others.length === 0;
  const [words = '', ...toWrite] = fix.split('\n');
  const isToWrite = /^\+?[\w.]+ = /.test(words);
  return [
    isOne && only.place !== '' ? `  ${only.place}  ${rule}` : `  ${rule}`,
    ...(isOne
      ? [...quoted(only), ...wrap(only.message, width, '      ')]
      : at.flatMap((one) => [...said(one), ...quoted(one)])),
    ...wrap(`fix: ${words}`, isToWrite ? Infinity : width, '      ', '        '),
    ...toWrite.map((line) => `          ${line}`),
  ];
}

/** Each with what it does: beside it, or below it where one would be too wide. */
function commandLines(commands: readonly NamedCommand[], width: number): string[] {
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
