/** What HTCondor reads as one word of an expression. */
const token = new RegExp(
  [
    // A backslash escapes only a quote, and not the last one.
    String.raw`"(?:[^"\\]|\\"(?=[\s\S])|\\(?!"[\s\S]))*"|'(?:[^'\\]|\\[\s\S])*'`,
    String.raw`|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|[A-Za-z_]\w*`,
    String.raw`|=\?=|=!=|==|!=|<=|<<|>>>|>>|>=|&&|\|\||\?\s*:|[-+*/%<>&|^?:!~.,;()[\]{}=]`,
  ].join(''),
  'y',
);
const gap = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const binary = /^(=\?=|=!=|==|!=|<=|<<|>>>|>>|>=|&&|\|\||\?\s*:|[-+*/%<>&|^]|is|isnt)$/i;
const unary = /^[-+!~]$/;
const maxDepth = 200;

const equalSign = '`=` is not an operator: equal is `==`';

class NotAnExpression extends Error {}

/** Why HTCondor cannot read a text as one ClassAd expression; undefined when it can. Nothing is evaluated. */
export function whyNoExpression(text: string): string | undefined {
  try {
    new ExpressionReader(text).read();
    return undefined;
  } catch (error) {
    if (error instanceof NotAnExpression) return error.message;
    throw error;
  }
}

/** Operators bind in ways that do not matter here: only whether each has what it needs. */
class ExpressionReader {
  readonly #tokens: string[];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  read(): void {
    this.#expression();
    if (this.#next === '=') throw new NotAnExpression(equalSign);
    if (this.#next !== undefined)
      throw new NotAnExpression(`an operator is missing before \`${this.#next}\``);
  }

  get #next(): string | undefined {
    return this.#tokens[this.#at];
  }

  #accept(mark: string): boolean {
    if (this.#next !== mark) return false;
    this.#at += 1;
    return true;
  }

  #expect(mark: string): void {
    if (mark !== '=' && this.#next === '=') throw new NotAnExpression(equalSign);
    if (!this.#accept(mark)) throw new NotAnExpression(`\`${mark}\` is missing${this.#before()}`);
  }

  #before(): string {
    return this.#next === undefined ? ' at the end' : ` before \`${this.#next}\``;
  }

  #expression(): void {
    if (++this.#depth > maxDepth) throw new NotAnExpression('it is nested too deep');
    this.#operand();
    while (binary.test(this.#next ?? '')) {
      this.#at += 1;
      this.#operand();
    }
    if (this.#accept('?')) {
      this.#expression();
      this.#expect(':');
      this.#expression();
    }
    this.#depth -= 1;
  }

  #operand(): void {
    while (unary.test(this.#next ?? '')) this.#at += 1;
    this.#primary();
    for (;;) {
      if (this.#accept('.')) this.#name();
      else if (this.#accept('[')) {
        this.#expression();
        this.#expect(']');
      } else return;
    }
  }

  #primary(): void {
    if (this.#accept('(')) {
      this.#expression();
      this.#expect(')');
    } else if (this.#accept('{')) this.#list('}');
    else if (this.#accept('[')) this.#ad();
    else if (this.#accept('.')) this.#name();
    else this.#word();
  }

  #word(): void {
    const word = this.#next;
    if (word === undefined) throw new NotAnExpression('it ends where a value should be');
    if (!/^["'\w]|^\.\d/.test(word) || /^isn?t?$/i.test(word))
      throw new NotAnExpression(`a value is missing before \`${word}\``);
    this.#at += 1;
    if (/^[A-Za-z_]/.test(word) && this.#accept('(')) this.#list(')');
  }

  #list(closing: string): void {
    if (this.#accept(closing)) return;
    do this.#expression();
    while (this.#accept(','));
    this.#expect(closing);
  }

  #ad(): void {
    while (!this.#accept(']')) {
      this.#name();
      this.#expect('=');
      this.#expression();
      if (this.#next !== ']') this.#expect(';');
    }
  }

  #name(): void {
    if (!/^['A-Za-z_]/.test(this.#next ?? ''))
      throw new NotAnExpression(`a name is missing${this.#before()}`);
    this.#at += 1;
  }
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  const whole = text.trimEnd();
  for (let at = skipGap(whole, 0); at < whole.length; at = skipGap(whole, token.lastIndex)) {
    token.lastIndex = at;
    const [found] = token.exec(whole) ?? [];
    if (found === undefined) throw new NotAnExpression(unreadable(whole.slice(at)));
    const next = whole[token.lastIndex] ?? '';
    if (/^\d/.test(found) && (/^0\d+$/.test(found) || /[\w.]/.test(next)))
      throw new NotAnExpression(`\`${clipped(whole.slice(at))}\` is not a number`);
    tokens.push(found);
  }
  return tokens;
}

function skipGap(text: string, at: number): number {
  gap.lastIndex = at;
  gap.test(text);
  return gap.lastIndex;
}

const unreadable = (rest: string): string =>
  /^["']/.test(rest) ? `a quote is never closed: \`${clipped(rest)}\`` : `\`${clipped(rest)}\` is not valid`;

const clipped = (text: string): string => (text.length > 30 ? `${text.slice(0, 30)}…` : text);
