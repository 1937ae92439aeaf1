/** Thrown for a value that `condor_submit` cannot split into words; the message is the reason. */
export class BadQuoting extends Error {}

/**
 * The words of `arguments`. A value in double quotes is the new syntax: single quotes group, a doubled quote of either
 * kind is one. Any other value is the old one: blanks separate and `\"` is a double quote.
 */
export function splitArguments(value: string): string[] {
  const inner = quotedValue(value);
  if (inner !== undefined) return splitRaw(inner);
  return value.trim() === ''
    ? []
    : oldText(value)
        .trim()
        .split(/[ \t\n\r]+/);
}

/** The words `NAME=value` of `environment`; in the old syntax `;`, or the mark it begins with, separates. */
export function splitEnvironment(value: string): string[] {
  const inner = quotedValue(value);
  const [mark = ';'] = /^[!@%^&*~?<>,:+#`|/$-]/.exec(value.trim()) ?? [];
  const old = (): string[] => value.split(mark).map((word) => word.replace(/^\s+/, ''));
  const words = (inner === undefined ? old() : splitRaw(inner)).filter((word) => word !== '');
  // What `$$()` stands for is not known here.
  const bad = value.includes('$$(') ? undefined : words.find((word) => word.indexOf('=') < 1);
  if (bad !== undefined) throw new BadQuoting(`\`${bad}\` is not of the form NAME=value`);
  return words;
}

/** What may be a word of `environment`, however it is quoted. */
export const plainWord = /[^\s;|"']+/g;

/** Words of a refused `environment` that no name precedes: any of them may be a secret. */
export const namelessWords = (value: string): string[] =>
  (wordsOf('environment', value).length === 0 ? (value.match(plainWord) ?? []) : []).filter(
    (word) => !word.includes('=') && !/^[A-Z][A-Z\d_]*$/.test(word),
  );

/** The words of `arguments` or `environment`; none where HTCondor refuses the value. */
export function wordsOf(command: 'arguments' | 'environment', value = ''): string[] {
  try {
    return command === 'arguments' ? splitArguments(value) : splitEnvironment(value);
  } catch (error) {
    if (error instanceof BadQuoting) return [];
    throw error;
  }
}

/** The text between the double quotes of the new syntax, with each `""` as one quote; undefined in the old syntax. */
function quotedValue(value: string): string | undefined {
  const text = value.trim();
  if (!text.startsWith('"')) return undefined;
  const body = /^"((?:[^"]|"")*)"$/s.exec(text)?.[1];
  if (body === undefined)
    throw new BadQuoting(
      /^"(?:[^"]|"")*$/s.test(text)
        ? 'the double quote at its start is never closed'
        : 'a double quote ends the value before its end',
    );
  return body.replaceAll('""', '"');
}

function oldText(value: string): string {
  if (/(?<!\\)"/.test(value))
    throw new BadQuoting('it contains a double quote, but is not in double quotes as a whole');
  return value.replaceAll(String.raw`\"`, '"');
}

/** Splits the inside of the new syntax, also that of the job's `Arguments` and `Environment` attributes. */
export function splitRaw(text: string): string[] {
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

/** One statement's text, as HTCondor joins it from physical lines. */
export interface LogicalLine {
  text: string;
  /** Where it starts, counted from 1. */
  line: number;
  /** A comment between its continued lines: HTCondor keeps the comment's last character as text. */
  commentInside?: number;
}

/**
 * Joins continued lines the way `condor_submit` does: every physical line is trimmed, a trailing backslash joins
 * the next one, a comment line is never continued, and a comment within a continued line leaves its last
 * character (so only one that ends in a backslash disappears).
 */
export function logicalLines(text: string): LogicalLine[] {
  const physical = text.split('\n');
  if (physical.at(-1) === '') physical.pop();
  const joined: LogicalLine[] = [];
  for (let at = 0; at < physical.length; at++) {
    const logical: LogicalLine = { text: '', line: at + 1 };
    for (let first = true; ; first = false) {
      const { piece, continues, comment } = readPiece(physical[at] ?? '', first);
      if (comment && !first && !continues) logical.commentInside = at + 1;
      logical.text += piece;
      if (!continues || at + 1 >= physical.length) break;
      at++;
    }
    joined.push(logical);
  }
  return joined;
}

/** Without the blanks at both ends that HTCondor takes for blanks: no others of Unicode. */
const trimBlanks = (text: string): string => text.replaceAll(/^[ \t-\r]+|[ \t-\r]+$/g, '');

function readPiece(raw: string, first: boolean): { piece: string; continues: boolean; comment: boolean } {
  const trimmed = trimBlanks(raw);
  const comment = trimmed.startsWith('#');
  if (comment && first) return { piece: trimmed, continues: false, comment };
  const kept = comment ? trimmed.slice(-1) : trimmed;
  const continues = kept.endsWith('\\');
  return { piece: continues ? kept.slice(0, -1) : kept, continues, comment };
}
