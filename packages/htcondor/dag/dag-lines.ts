import type { SourceLine } from '@updraft/base';
import type { InlineDescription } from './dag-command.ts';
import { DagSyntax } from './dag-lexer.ts';

/** The lines of a DAG file: comments and empty lines are skipped, and `\` at the end continues a line. */
export class DagLines {
  readonly #text: string;
  readonly #file: string;
  #at = 0;
  #line = 0;
  /** A command whose continuation is missing. */
  unfinished: SourceLine | undefined;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
  }

  next(): { text: string; place: SourceLine } | undefined {
    let text = '';
    let place: SourceLine | undefined;
    for (;;) {
      const line = this.raw();
      if (line === undefined) break;
      if (place === undefined && !line.text.endsWith('\\')) return line;
      place ??= line.place;
      text += `${text === '' ? '' : ' '}${line.text}`;
      if (!text.endsWith('\\')) return { text, place };
      text = text.slice(0, -1);
    }
    this.unfinished = place;
    return undefined;
  }

  /** The next line by itself. */
  raw(): { text: string; place: SourceLine } | undefined {
    while (this.#at < this.#text.length) {
      const end = this.#text.indexOf('\n', this.#at);
      const text = this.#text.slice(this.#at, end === -1 ? undefined : end).trim();
      this.#at = end === -1 ? this.#text.length : end + 1;
      this.#line += 1;
      if (text !== '' && !text.startsWith('#') && !text.startsWith('//'))
        return { text, place: { file: this.#file, line: this.#line } };
    }
    return undefined;
  }

  /** A submit description up to the line that closes it, and what follows on that line. */
  description(close: string): { inline: InlineDescription; after: string } {
    if (close === '@') throw new DagSyntax('`@=` names no closing word');
    const place = { file: this.#file, line: this.#line };
    const texts: string[] = [];
    for (let line = this.raw(); line !== undefined; line = this.raw()) {
      if (line.text === close || line.text.startsWith(`${close} `)) {
        const text = texts.join('\n');
        return { inline: { text, place }, after: line.text.slice(close.length) };
      }
      while (texts.length < line.place.line - 1) texts.push('');
      texts.push(line.text);
    }
    throw new DagSyntax(`the submit description has no closing \`${close}\``);
  }
}

/** The word that closes an inline description; undefined for the name of a file. */
export function closingOf(word: string): string | undefined {
  if (word.startsWith('{')) return '}';
  return word.startsWith('@=') ? `@${word.slice(2)}` : undefined;
}
