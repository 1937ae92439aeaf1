/** The width of a text on a terminal, counting one per code point. */
export const widthOf = (text: string): number => Array.from(text).length;

export const longestOf = (texts: readonly string[]): number =>
  texts.reduce((max, text) => Math.max(max, widthOf(text)), 0);

/** The text in at most `width` characters; cut text ends with an ellipsis. */
export function clip(text: string, width: number): string {
  const chars = Array.from(text);
  if (chars.length <= width) return text;
  return width <= 0 ? '' : `${chars.slice(0, width - 1).join('')}…`;
}

export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'left' ? text + space : space + text;
}

/** A sentence as lines of at most `width` characters; `first` and `rest` begin them. Only a longer word exceeds it. */
export function wrap(text: string, width: number, first = '', rest = first): string[] {
  const lines: string[] = [];
  let line = first;
  for (const word of unbrokenWords(text, width - widthOf(rest))) {
    const isEmpty = line === first || line === rest;
    if (!isEmpty && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line);
      line = rest + word;
    } else line = isEmpty ? line + word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** Each line of a message, wrapped with a hanging indent; commands and additions of a diff stay on one line. */
export function wrapLines(text: string, width: number): string {
  const wrapLine = (line: string): string => {
    const [indent = ''] = /^ */.exec(line) ?? [];
    if (widthOf(line) <= width || /^ *(?:[$+] ?|updraft )/.test(line)) return line;
    return wrap(line.slice(indent.length), width, indent, `${indent}  `).join('\n');
  };
  return text.split('\n').map(wrapLine).join('\n');
}

/** The words of a sentence. A command to copy, in backquotes or after a colon, is one word where it fits on a line. */
function unbrokenWords(text: string, room: number): string[] {
  const words: string[] = [];
  const rest = text.split(' ');
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const isLast = words.at(-1)?.endsWith(':') === true && word === 'updraft';
    const opens = word.split('`').length % 2 === 0;
    const end = isLast ? rest.length - 1 : opens ? rest.findIndex((one) => one.includes('`')) : -1;
    const joined = [word, ...rest.slice(0, end + 1)].join(' ');
    if (end < 0 || widthOf(joined) > room) words.push(word);
    else {
      words.push(joined);
      rest.splice(0, end + 1);
    }
  }
  return words;
}

/** A number, or a text that is one, such as `1e-05` of a job file. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'string' && /^[-+]?\.?\d/.test(value)) return numberOf(Number(value));
  return typeof value === 'number' && !Number.isNaN(value) ? value : undefined;
}

/** The order of two cells of a table: numbers by size, text as people sort it (`v2` before `v10`). */
export function compareValues(a: unknown, b: unknown): number {
  const [first, second] = [numberOf(a), numberOf(b)];
  if (first !== undefined && second !== undefined) return first - second;
  return String(a).localeCompare(String(b), 'en', { numeric: true });
}
