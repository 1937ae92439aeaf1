import type { SourceLine } from '@updraft/base';

const isBlank = (char: string): boolean => char === ' ' || char === '\t' || char === '\r';
const isQuote = (char: string): boolean => char === '"' || char === "'";

const startOfPair = /[ \t\r]*([^ \t\r=]*)([ \t\r]*=?)[ \t\r]*/y;

/** Why a line of a DAG file cannot be read. */
export class DagSyntax extends Error {}

/** Splits a line of a DAG file into words as DAGMan does: in quotes, a backslash takes the next character literally. */
export class DagLexer {
  readonly place: SourceLine;
  readonly #text: string;
  #at = 0;

  constructor(text: string, place: SourceLine) {
    this.#text = text;
    this.place = place;
  }

  /** The next word, empty at the end of the line; `quotes` says whether it keeps its quotes. */
  next(quotes: 'kept' | 'removed' = 'kept'): string {
    let word = '';
    let quote = '';
    const plain = this.#plainWord();
    if (plain !== undefined) return plain;
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#text.charAt(this.#at);
      if (quote === '') {
        if (isBlank(char)) {
          if (word !== '') break;
        } else if (isQuote(char)) {
          quote = char;
          if (quotes === 'kept') word += char;
        } else word += char;
      } else if (char === '\\') word += this.#text.charAt(++this.#at);
      else if (char === quote) {
        if (quotes === 'kept') word += char;
        quote = '';
      } else word += char;
    }
    if (quote !== '') throw new DagSyntax(`a ${quote} has no closing ${quote}`);
    return word;
  }

  /** The word that the line begins with; the whole line if that has quotes, which no keyword has. */
  first(): string {
    return this.#plainWord() ?? this.rest();
  }

  /** Almost all words have no quotes: then they are a part of the line. */
  #plainWord(): string | undefined {
    const text = this.#text;
    let from = this.#at;
    while (isBlank(text.charAt(from))) from++;
    let end = from;
    for (; end < text.length; end++) {
      const char = text.charAt(end);
      if (isBlank(char)) break;
      if (isQuote(char)) return undefined;
    }
    this.#at = end;
    return text.slice(from, end);
  }

  peek(): string {
    const at = this.#at;
    const word = this.next();
    this.#at = at;
    return word;
  }

  /** The next `name=value`; the value may be quoted, the name may not. */
  pair(): [name: string, value: string] | undefined {
    startOfPair.lastIndex = this.#at;
    const [whole, name = '', sign = ''] = startOfPair.exec(this.#text) ?? [];
    if (whole === undefined || (name === '' && sign.trim() === '')) return undefined;
    if (name === '') throw new DagSyntax('a value has no name before its `=`');
    if (/["']/.test(name)) throw new DagSyntax(`the name \`${name}\` has a quotation mark`);
    this.#at += whole.length;
    if (sign.trim() === '') throw new DagSyntax(`\`${name}\` has no value: write ${name}="…"`);
    if (this.#text.charAt(this.#at) === '=') throw new DagSyntax(`\`${name}\` has two \`=\``);
    const value = this.next();
    if (value === '') throw new DagSyntax(`\`${name}\` has no value: write ${name}="…"`);
    return [name, isQuote(value.charAt(0)) ? value.slice(1, -1) : value];
  }

  /** Everything up to the end of the line. */
  rest(): string {
    const rest = this.#text.slice(this.#at).trim();
    this.#at = this.#text.length;
    return rest;
  }
}
