/** A word or an operator of a shell script. A parenthesis that groups commands is an operator. */
export interface ShellToken {
  kind: 'word' | 'operator';
  text: string;
  /** Counted from 1. */
  line: number;
}

const operators = [';;&', '&&', '||', ';;', ';&', '|&', ';', '|', '&', '(', ')', '\n'];
const brackets: Record<string, string> = { '(': ')', '{': '}', '`': '`' };

/**
 * The words and operators of a shell script, in one pass: continued lines are joined, comments and here-documents left
 * out; quotes, substitutions, arrays and arithmetic belong to their word.
 */
export const shellTokens = (script: string): ShellToken[] =>
  new Scanner(script.replaceAll('\r\n', '\n')).scan();

class Scanner {
  readonly #text: string;
  readonly #tokens: ShellToken[] = [];
  /** Here-documents that start after this line. */
  readonly #documents: string[] = [];
  #at = 0;
  #line = 1;
  #word: ShellToken | undefined;
  /** Inside `[[ … ]]`, where `&&` and `<` are not operators of the shell. */
  #isTest = false;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): ShellToken[] {
    while (this.#at < this.#text.length) this.#step();
    this.#endWord();
    return this.#tokens;
  }

  #step(): void {
    const mark = this.#text[this.#at] ?? '';
    if (this.#text.startsWith('\\\n', this.#at)) this.#advance(2);
    else if (mark === '\\' || mark === '"' || mark === "'" || mark === '`') this.#take(this.#endOf(this.#at));
    else if (mark === ' ' || mark === '\t') {
      this.#endWord();
      this.#advance(1);
    } else if (mark === '#' && this.#word === undefined) this.#advance(this.#toLineEnd() - this.#at);
    else if (/^[$<>]\(|^\$\{/.test(this.#text.slice(this.#at, this.#at + 2)))
      this.#take(this.#endOf(this.#at + 1));
    else if (mark === '<' && this.#text.startsWith('<<', this.#at)) this.#redirect();
    else if (mark === '(' && this.#opensWord()) this.#take(this.#endOf(this.#at));
    else this.#operatorOrLetter();
  }

  #operatorOrLetter(): void {
    const found = operators.find((one) => this.#text.startsWith(one, this.#at));
    const isLineEnd = found === '\n';
    // `2>&1`, `&>file`, and everything in a test.
    const isPlain =
      (found === '&' && (this.#text[this.#at + 1] === '>' || /[<>]$/.test(this.#word?.text ?? ''))) ||
      (this.#isTest && !isLineEnd);
    if (found === undefined || isPlain) {
      this.#take(this.#at + (found?.length ?? 1));
      return;
    }
    this.#endWord();
    if (this.#isTest && /^(&&|\|\|)$/.test(this.#tokens.at(-1)?.text ?? '')) {
      this.#advance(1);
      return;
    }
    this.#isTest = false;
    this.#tokens.push({ kind: 'operator', text: found, line: this.#line });
    this.#advance(found.length);
    if (isLineEnd) this.#skipDocuments();
  }

  /** `x=(…)` is an array, and `((…))` arithmetic; other parentheses group commands. */
  #opensWord(): boolean {
    return /[A-Za-z_\d\]]\+?=$/.test(this.#word?.text ?? '') || this.#text.startsWith('((', this.#at);
  }

  #redirect(): void {
    if (this.#text.startsWith('<<<', this.#at)) {
      this.#take(this.#at + 3);
      return;
    }
    const [all = '<<', , name] =
      /^<<-?[ \t]*(['"\\]?)([A-Za-z_]\w*)\1?/.exec(this.#text.slice(this.#at, this.#at + 200)) ?? [];
    if (name !== undefined) this.#documents.push(name);
    this.#take(this.#at + all.length);
  }

  /** Skips the here-documents that were announced on the line before. */
  #skipDocuments(): void {
    for (const name of this.#documents.splice(0))
      for (let isEnd = false; !isEnd && this.#at < this.#text.length;) {
        const end = this.#toLineEnd();
        isEnd = this.#text.slice(this.#at, end).trim() === name;
        this.#advance(end - this.#at + 1);
      }
  }

  /** Adds the text up to `end` to the word. */
  #take(end: number): void {
    this.#word ??= { kind: 'word', text: '', line: this.#line };
    this.#word.text += this.#text.slice(this.#at, end);
    this.#advance(end - this.#at);
  }

  #endWord(): void {
    const word = this.#word;
    this.#word = undefined;
    if (word === undefined) return;
    if (word.text === '[[') this.#isTest = true;
    if (word.text === ']]') this.#isTest = false;
    this.#tokens.push({ ...word, text: word.text.replace(/^(["'])(.*)\1$/s, '$2') });
  }

  #advance(count: number): void {
    const end = Math.min(this.#at + count, this.#text.length);
    for (; this.#at < end; this.#at++) if (this.#text[this.#at] === '\n') this.#line++;
  }

  #toLineEnd(): number {
    const end = this.#text.indexOf('\n', this.#at);
    return end < 0 ? this.#text.length : end;
  }

  #endOf(at: number): number {
    return endOfQuoted(this.#text, at);
  }
}

/** Where what starts at `at` ends: a quoted string, brackets with all they contain, or an escaped character. */
function endOfQuoted(text: string, at: number): number {
  const open = text[at] ?? '';
  if (open === '\\') return at + 2;
  if (open === "'") return afterNext(text, "'", at + 1);
  const closers = [brackets[open] ?? '"'];
  for (let next = at + 1; next < text.length; next++) {
    const mark = text[next] ?? '';
    const closer = closers.at(-1);
    if (mark === '\\') next++;
    else if (mark === closer) {
      closers.pop();
      if (closers.length === 0) return next + 1;
    } else if (mark === "'" && closer !== '"') next = afterNext(text, "'", next + 1) - 1;
    else if (mark === '"' || mark === '`' || (mark === '(' && closer !== '"'))
      closers.push(brackets[mark] ?? '"');
    else if (mark === '$' && (text[next + 1] === '(' || text[next + 1] === '{'))
      closers.push(brackets[text[++next] ?? ''] ?? '');
  }
  return text.length;
}

function afterNext(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found < 0 ? text.length : found + 1;
}
