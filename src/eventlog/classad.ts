/** A ClassAd value. What is not a literal stays an expression, as written. */
export type AdValue = string | number | boolean | undefined | Expression | AdValue[] | Ad;

export interface Expression {
  expression: string;
}

export interface Ad {
  [attribute: string]: AdValue;
}

const literal =
  /\s*(?:"((?:[^"\\]|\\.)*)"|([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])|(true|false|undefined)\b)\s*/iy;
const attributeName = /\s*('[^']*'|[A-Za-z_]\w*)\s*=(?![=?!])/y;
const deepest = 64;

/**
 * The value of `text`, as the right side of an attribute is written. In strings of the `old` syntax, that of attributes a
 * line each, a backslash is one, but before a quote.
 */
export function parseAdValue(text: string, syntax: 'new' | 'old' = 'new'): AdValue {
  const reader = new Reader(text, syntax === 'new' ? unescape : unescapeOld);
  const value = reader.value(0);
  return reader.failed || reader.at < text.length ? { expression: text.trim() } : value;
}

/** The attributes of `Name = value` lines; a line that is something else is left out. */
export function parseAdLines(lines: readonly string[]): Ad {
  const ad: Ad = {};
  for (const line of lines) {
    const [, name, value] = /^\s*([A-Za-z_][\w.]*)\s*=\s*(.*)$/s.exec(line) ?? [];
    if (name !== undefined && value !== undefined) setAttribute(ad, name, parseAdValue(value, 'old'));
  }
  return ad;
}

/** Sets an attribute whatever its name, `__proto__` too. */
export function setAttribute(ad: Ad, name: string, value: AdValue): void {
  if (name !== '__proto__') ad[name] = value;
  else Object.defineProperty(ad, name, { value, enumerable: true, configurable: true, writable: true });
}

export function isAd(value: AdValue): value is Ad {
  return typeof value === 'object' && !Array.isArray(value) && typeof value.expression !== 'string';
}

class Reader {
  readonly text: string;
  at = 0;
  failed = false;
  readonly #unescape: (text: string) => string;

  constructor(text: string, unescapeString: (text: string) => string) {
    this.text = text;
    this.#unescape = unescapeString;
  }

  value(depth: number): AdValue {
    literal.lastIndex = this.at;
    const match = literal.exec(this.text);
    if (match) {
      this.at = literal.lastIndex;
      if (match[1] !== undefined) return this.#unescape(match[1]);
      if (match[2] !== undefined) return Number(match[2]);
      const word = match[3]?.toLowerCase();
      return word === 'undefined' ? undefined : word === 'true';
    }
    if (depth < deepest && this.take('[')) return this.#ad(depth + 1);
    if (depth < deepest && this.take('{')) return this.#list(depth + 1);
    this.failed = true;
    return undefined;
  }

  take(mark: string): boolean {
    while (this.text[this.at] === ' ' || this.text[this.at] === '\t') this.at += 1;
    if (this.text[this.at] !== mark) return false;
    this.at += 1;
    while (this.text[this.at] === ' ' || this.text[this.at] === '\t') this.at += 1;
    return true;
  }

  #ad(depth: number): Ad {
    const ad: Ad = {};
    while (!this.take(']')) {
      attributeName.lastIndex = this.at;
      const name = attributeName.exec(this.text)?.[1];
      if (name === undefined) this.failed = true;
      if (name === undefined || this.failed) return ad;
      this.at = attributeName.lastIndex;
      setAttribute(ad, name.replaceAll("'", ''), this.value(depth));
      if (!this.take(';') && this.text[this.at] !== ']') this.failed = true;
    }
    return ad;
  }

  #list(depth: number): AdValue[] {
    const list: AdValue[] = [];
    while (!this.take('}')) {
      if (this.failed) return list;
      list.push(this.value(depth));
      if (!this.take(',') && this.text[this.at] !== '}') this.failed = true;
    }
    return list;
  }
}

const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

/** What is not ASCII may stand there as the octal numbers of its bytes in UTF-8. */
function unescape(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replaceAll(/((?:\\[0-3][0-7]{2})+)|\\(.)/gs, (_, octal: string | undefined, mark: string) =>
    octal === undefined ? (escapes[mark] ?? mark) : bytesOf(octal).toString('utf8'),
  );
}

const bytesOf = (octal: string): Buffer =>
  Buffer.from(
    octal
      .slice(1)
      .split('\\')
      .map((digits) => Number.parseInt(digits, 8)),
  );

const unescapeOld = (text: string): string => text.replaceAll('\\"', '"');
