/** Thrown for a value that `condor_submit` cannot split into words; the message is the reason. */
export class BadQuoting extends Error {}

/**
 * The words of `arguments`. A value in double quotes is the new syntax: single quotes group, a doubled quote of either
 * kind is one. Any other value is the old one: blanks separate and `\"` is a double quote.
 */
export function argumentWords(value: string): string[] {
  const inner = quotedValue(value);
  if (inner !== undefined) return rawWords(inner);
  return value.trim() === ''
    ? []
    : oldText(value)
        .trim()
        .split(/[ \t\n\r]+/);
}

/** The variables of `environment`, as `NAME=value` words; the old syntax separates by semicolons and knows no quotes. */
export function environmentWords(value: string): string[] {
  const inner = quotedValue(value);
  if (inner !== undefined) return rawWords(inner);
  return value
    .split(';')
    .map((word) => word.replace(/^\s+/, ''))
    .filter((word) => word !== '');
}

/** What the new syntax holds between its double quotes, with each `""` as one quote; undefined in the old syntax. */
function quotedValue(value: string): string | undefined {
  const text = value.trim();
  if (!text.startsWith('"')) return undefined;
  const body = /^"((?:[^"]|"")*)"$/s.exec(text)?.[1];
  if (body === undefined)
    throw new BadQuoting(
      'a double quote inside the outer ones must be doubled, and the value must end with one',
    );
  return body.replaceAll('""', '"');
}

function oldText(value: string): string {
  if (/(?<!\\)"/.test(value))
    throw new BadQuoting('a double quote in the old syntax needs a backslash before it');
  return value.replaceAll(String.raw`\"`, '"');
}

/** Splits the inside of the new syntax, which is also how the job's `Arguments` and `Environment` are kept. */
export function rawWords(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [part] of text.matchAll(/\s+|'(?:[^']|'')*'?|[^\s']+/g)) {
    if (/^\s/.test(part)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + (part.startsWith("'") ? groupOf(part) : part);
  }
  if (word !== undefined) words.push(word);
  return words;
}

function groupOf(part: string): string {
  if (part.length < 2 || !part.endsWith("'") || (part.length - part.replaceAll("'", '').length) % 2 !== 0)
    throw new BadQuoting('a single quote is never closed');
  return part.slice(1, -1).replaceAll("''", "'");
}
