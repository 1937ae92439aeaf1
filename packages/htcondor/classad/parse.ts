import { Fault } from '../fault.ts';
import { Expression, setAttribute, type Ad, type AdValue } from './ad.ts';

/** One attribute per line (`old`) or ads in brackets (`new`): in old strings a backslash escapes only a quote. */
type Syntax = 'new' | 'old';

const space = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const literal =
  /"((?:[^"\\]|\\[\s\S])*)"|([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])|(true|false|undefined|error)\b/iy;
const attributeName = /(?:'((?:[^'\\]|\\[\s\S])*)'|([A-Za-z_]\w*))\s*=(?![=?!])/y;
/** Part of an expression that cannot contain its end: strings, quoted names, anything but brackets and separators. */
const opaque = /(?:"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|[^"'()[\]{},;])*/y;
const ends = new Set([';', ']', ',', '}']);
const brackets: Record<string, string> = { '(': ')', '[': ']', '{': '}' };
const maxDepth = 64;

/** The consecutive ads of a file in new syntax; throws a Fault. */
export function parseAds(text: string): Ad[] {
  const reader = new Reader(text, 'new');
  const ads: Ad[] = [];
  while (!reader.atEnd) ads.push(reader.ad(0));
  return ads;
}

/** The right side of an attribute. Invalid text becomes an expression, since logs must be read to their end. */
export function parseAdValue(text: string, syntax: Syntax = 'new'): AdValue {
  try {
    const reader = new Reader(text, syntax);
    const value = reader.value(0);
    if (reader.atEnd) return value;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
  return new Expression(text.trim());
}

/** The attributes of `Name = value` lines; other lines are skipped. */
export function parseAdLines(lines: readonly string[]): Ad {
  const ad: Ad = {};
  for (const line of lines) {
    const sign = line.indexOf('=');
    const name = line.slice(0, Math.max(sign, 0)).trim();
    if (lineName.test(name)) setAttribute(ad, name, lineValue(line.slice(sign + 1).trim()));
  }
  return ad;
}

const lineName = /^[A-Za-z_][\w.]*$/;
const figure = /^-?\d+(?:\.\d+)?$/;

/** Most values are a string without escapes, or a number. */
function lineValue(text: string): AdValue {
  if (figure.test(text)) return Number(text);
  const isPlain = text.length > 1 && text.startsWith('"') && text.indexOf('"', 1) === text.length - 1;
  return isPlain && !text.includes('\\') ? text.slice(1, -1) : parseAdValue(text, 'old');
}

class Reader {
  readonly #text: string;
  readonly #unescape: (text: string) => string;
  #at = 0;

  constructor(text: string, syntax: Syntax) {
    this.#text = text;
    this.#unescape = syntax === 'new' ? unescape : unescapeOld;
  }

  get atEnd(): boolean {
    this.#skipSpace();
    return this.#at >= this.#text.length;
  }

  ad(depth: number): Ad {
    this.#expect('[', depth);
    const ad: Ad = {};
    while (!this.#accept(']')) {
      const [, quoted, plain = ''] = this.#match(attributeName) ?? this.#fail("'Name ='");
      setAttribute(ad, quoted === undefined ? plain : unescape(quoted), this.value(depth + 1));
      if (!this.#accept(';') && !this.#nextIs(']')) this.#fail("';' or ']'");
    }
    return ad;
  }

  value(depth: number): AdValue {
    this.#skipSpace();
    const from = this.#at;
    const value = this.#simple(depth);
    if (this.#at > from && (this.atEnd || ends.has(this.#text[this.#at] ?? ''))) return value;
    this.#at = from;
    this.#skip(depth);
    return new Expression(this.#text.slice(from, this.#at).trim());
  }

  #simple(depth: number): AdValue {
    if (this.#nextIs('[')) return this.ad(depth);
    if (this.#nextIs('{')) return this.#list(depth);
    const [, text, number, word] = this.#match(literal) ?? [];
    if (text !== undefined) return this.#unescape(text);
    if (number !== undefined) return Number(number);
    return word === undefined || /undefined|error/i.test(word) ? undefined : word.toLowerCase() === 'true';
  }

  #list(depth: number): AdValue[] {
    this.#expect('{', depth);
    const list: AdValue[] = [];
    while (!this.#accept('}')) {
      list.push(this.value(depth + 1));
      if (!this.#accept(',') && !this.#nextIs('}')) this.#fail("',' or '}'");
    }
    return list;
  }

  /** Skips an expression, up to the character that ends it. */
  #skip(depth: number): void {
    const open: string[] = [];
    for (;;) {
      this.#match(opaque);
      const mark = this.#text[this.#at];
      if (open.length === 0 && (mark === undefined ? depth === 0 : ends.has(mark))) return;
      if (mark === undefined || depth + open.length > maxDepth) this.#fail('the end of an expression');
      const closing = brackets[mark];
      if (closing !== undefined) open.push(closing);
      else if (mark === open.at(-1)) open.pop();
      else if (mark !== ',' && mark !== ';') this.#fail(`'${open.at(-1) ?? ''}'`);
      this.#at += 1;
    }
  }

  #skipSpace(): void {
    const code = this.#text.charCodeAt(this.#at);
    // Usually there is none, and a pattern costs more than this test.
    if (code <= 0x20 || code === 0x2f || code >= 0x80) this.#match(space);
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text) ?? undefined;
    if (found !== undefined) this.#at = pattern.lastIndex;
    return found;
  }

  #nextIs(mark: string): boolean {
    this.#skipSpace();
    return this.#text[this.#at] === mark;
  }

  #accept(mark: string): boolean {
    if (!this.#nextIs(mark)) return false;
    this.#at += 1;
    this.#skipSpace();
    return true;
  }

  #expect(mark: string, depth: number): void {
    if (depth > maxDepth || !this.#accept(mark)) this.#fail(`'${mark}'`);
  }

  #fail(expected: string): never {
    const found =
      this.#at < this.#text.length ? JSON.stringify(this.#text.slice(this.#at, this.#at + 20)) : 'its end';
    throw new Fault(
      'order-invalid',
      `not a ClassAd: expected ${expected} at character ${this.#at}, found ${found}`,
    );
  }
}

const marks: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', a: '\x07', v: '\v' };

/** Non-ASCII characters may be written as the octal numbers of their UTF-8 bytes. */
function unescape(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replaceAll(
    /((?:\\[0-3]?[0-7]{1,2})+)|\\([\s\S])/g,
    (_, octal: string | undefined, mark: string) =>
      octal === undefined ? (marks[mark] ?? mark) : utf8.decode(bytesOf(octal)),
  );
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

const bytesOf = (octal: string): Uint8Array =>
  Uint8Array.from(
    octal
      .slice(1)
      .split('\\')
      .map((digits) => Number.parseInt(digits, 8)),
  );

const unescapeOld = (text: string): string => text.replaceAll('\\"', '"');
