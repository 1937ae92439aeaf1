import { Fault } from '../../fault/fault.ts';
import { Ad, Expression, type AdValue } from './classad.ts';

const space = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const literal =
  /"((?:[^"\\]|\\[\s\S])*)"|([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])|(true|false|undefined|error)\b/iy;
const attributeName = /(?:'((?:[^'\\]|\\[\s\S])*)'|([A-Za-z_]\w*))\s*=(?![=?!])/y;
/** A piece of an expression that cannot hold the end of it: a string, a quoted name, anything but brackets and marks. */
const opaque = /(?:"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|[^"'()[\]{},;])*/y;
const brackets: Record<string, string> = { '(': ')', '[': ']', '{': '}' };
const deepest = 64;

/** The ads of a file in new syntax, one after the other with or without anything between them. */
export function readAds(bytes: Buffer): Ad[] {
  // Byte by byte: HTCondor writes what is not ASCII as the octal numbers of its bytes.
  const reader = new Reader(bytes.toString('latin1'));
  const ads: Ad[] = [];
  while (!reader.atEnd) ads.push(reader.ad(0));
  return ads;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get atEnd(): boolean {
    this.#match(space);
    return this.#at >= this.#text.length;
  }

  ad(depth: number): Ad {
    this.#expect('[', depth);
    const ad = new Ad();
    while (!this.#take(']')) {
      const [, quoted, plain = ''] = this.#match(attributeName) ?? this.#fail("'Name ='");
      ad.attributes.set(quoted === undefined ? plain : unescape(quoted), this.#value(depth + 1));
      if (!this.#take(';') && !this.#sees(']')) this.#fail("';' or ']'");
    }
    return ad;
  }

  #value(depth: number): AdValue {
    this.#match(space);
    const from = this.#at;
    const value = this.#simple(depth);
    if ([';', ']', ',', '}'].some((mark) => this.#sees(mark))) return value;
    this.#at = from;
    this.#skip(depth);
    return new Expression(this.#text.slice(from, this.#at).trim());
  }

  #simple(depth: number): AdValue {
    if (this.#sees('[')) return this.ad(depth);
    if (this.#sees('{')) return this.#list(depth);
    const [, text, number, word] = this.#match(literal) ?? [];
    if (text !== undefined) return unescape(text);
    if (number !== undefined) return Number(number);
    return word === undefined || /undefined|error/i.test(word) ? undefined : word.toLowerCase() === 'true';
  }

  #list(depth: number): AdValue[] {
    this.#expect('{', depth);
    const list: AdValue[] = [];
    while (!this.#take('}')) {
      list.push(this.#value(depth + 1));
      if (!this.#take(',') && !this.#sees('}')) this.#fail("',' or '}'");
    }
    return list;
  }

  /** Passes over an expression, to the mark that ends it. */
  #skip(depth: number): void {
    const open: string[] = [];
    for (;;) {
      this.#match(opaque);
      const mark = this.#text[this.#at];
      if (mark === undefined || depth + open.length > deepest) this.#fail('the end of an expression');
      if (open.length === 0 && [';', ']', ',', '}'].includes(mark)) return;
      const closing = brackets[mark];
      if (closing !== undefined) open.push(closing);
      else if (mark === open.at(-1)) open.pop();
      else if (mark !== ',' && mark !== ';') this.#fail(`'${open.at(-1) ?? ''}'`);
      this.#at += 1;
    }
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text) ?? undefined;
    if (found !== undefined) this.#at = pattern.lastIndex;
    return found;
  }

  #sees(mark: string): boolean {
    this.#match(space);
    return this.#text[this.#at] === mark;
  }

  #take(mark: string): boolean {
    if (!this.#sees(mark)) return false;
    this.#at += 1;
    this.#match(space);
    return true;
  }

  #expect(mark: string, depth: number): void {
    if (depth > deepest || !this.#take(mark)) this.#fail(`'${mark}'`);
  }

  #fail(expected: string): never {
    const found =
      this.#at < this.#text.length ? JSON.stringify(this.#text.slice(this.#at, this.#at + 20)) : 'its end';
    throw new Fault('order-invalid', `no ClassAds: expected ${expected} at byte ${this.#at}, found ${found}`);
  }
}

const marks: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', a: '\x07', v: '\v' };

/** Turns escapes back into what they stand for; the bytes that come out are UTF-8. */
function unescape(latin1: string): string {
  const bytes = latin1.replaceAll(/\\([0-3]?[0-7]{1,2}|[\s\S])/g, (_, mark: string) =>
    /^[0-7]/.test(mark) ? String.fromCharCode(Number.parseInt(mark, 8)) : (marks[mark] ?? mark),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
