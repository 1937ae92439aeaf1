import { clip, longestOf, pad, printable, wrap, wrapLines, given } from '@updraft/base';
import { fitTable } from '../tables/fit-table.ts';
import type { Block, Document, Fact, NamedCommand, Quote, Section, Table } from './document.ts';

type Problem = Extract<Block, { rule: string }>;

/** Width in characters, and the marks for bars. */
export interface TextPage {
  width: number;
  /** Options of the command that show what a narrow page does not, each followed by a comma. */
  all?: string;
  glyphs: { done: string; running: string; failed: string; idle: string };
}

const barWidth = 30;
/** Longer reasons are cut here, not in the JSON. */
const maxQuoteChars = 390;

/** Plain text with a final newline, of at most `width` characters a line; an empty line is before each further part. */
export const documentText = (document: Document, width: number, look: Partial<TextPage> = {}): string =>
  document
    .flatMap((block, at) => given(at > 0 && isSection(block) && '', ...blockLines(block, width, look)))
    .map((line) => `${line}\n`)
    .join('');

const isSection = (block: Block): block is Section =>
  typeof block !== 'string' && 'columns' in block && 'title' in block;

function blockLines(block: Block, width: number, look: Partial<TextPage>): string[] {
  if (typeof block === 'string') return [wrapLines(block, proseWidth(width))];
  if ('columns' in block) return tableLines(block, width, look);
  if ('title' in block) return [wrapLines(block.title, proseWidth(width))];
  if ('facts' in block) return factLines(block.facts, proseWidth(width), block.indent);
  if ('rule' in block) return problemLines(block, proseWidth(width));
  return commandLines(block.commands, width);
}

function tableLines(
  shown: Table | Section,
  width: number,
  { all = '', glyphs }: Partial<TextPage>,
): string[] {
  const { columns, rows, bars, after = [] } = shown;
  const [margin, title] = isSection(shown) ? ['  ', wrap(printable(shown.title), width, '', '  ')] : ['', []];
  const table = fitTable(
    columns.map((column) => ({ ...column, title: printable(column.title) })),
    rows.map((row) => row.map(printable)),
    width - margin.length,
  );
  const used = longestOf([...table.head, ...table.rows]);
  const [largest, room] = [Math.max(0, ...(bars ?? [])), Math.max(0, Math.min(barWidth, width - used - 4))];
  const drawn = table.rows.map((line, at) => {
    const share = largest === 0 ? 0 : (bars?.[at] ?? 0) / largest;
    return `${pad(line, used)}  ${glyphs?.done.repeat(Math.round(share * room)) ?? ''}`.trimEnd();
  });
  const head = columns.some((column) => column.title !== '') ? table.head : [];
  const hidden =
    `Not shown at this width: ${table.hidden.join(', ')}. To see all: ${all}a wider terminal, or ` +
    '`| less -S`.';
  return given(
    ...title,
    ...[...head, ...drawn].map((line) => margin + line),
    table.hidden.length > 0 && !isSection(shown) && '',
    ...[...after, ...(table.hidden.length === 0 ? [] : [hidden])].flatMap((line) => {
      const isQuote = line.startsWith('  ');
      const [indent, maxChars] = isQuote ? ['    ', maxQuoteChars] : [margin, Infinity];
      return wrap(clip(printable(line.trim()), maxChars), width, indent, `${indent}  `);
    }),
  );
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
