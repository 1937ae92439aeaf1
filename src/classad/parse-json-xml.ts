import { Expression, isAd, setAttribute, type Ad, type AdValue } from './ad.ts';

/** The attributes of an event in JSON; undefined if it is invalid. */
export function parseJsonAd(text: string): Ad | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? adFromJson(value)
      : undefined;
  } catch {
    return undefined;
  }
}

function adFromJson(value: object): Ad {
  const ad: Ad = {};
  for (const [name, item] of Object.entries(value)) setAttribute(ad, name, valueFromJson(item));
  return ad;
}

function valueFromJson(value: unknown): AdValue {
  if (typeof value === 'string') {
    // HTCondor writes expressions as strings of this form.
    const expression = /^\\?\/Expr\((.*)\)\\?\/$/s.exec(value)?.[1];
    return expression === undefined ? value : new Expression(expression.trim());
  }
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map(valueFromJson);
  return typeof value === 'object' && value !== null ? adFromJson(value) : undefined;
}

const tagPattern = /\s*<(\/?)(\w+)(?:\s+[nv]="([^"]*)")?\s*(\/?)>/y;
const maxDepth = 64;

/** The attributes of an event in XML (`<c>…</c>`); undefined if it is invalid. */
export function parseXmlAd(text: string): Ad | undefined {
  const reader = new XmlReader(text);
  try {
    const value = reader.value(0);
    return isAd(value) ? value : undefined;
  } catch (error) {
    if (error instanceof NotXml) return undefined;
    throw error;
  }
}

class NotXml extends Error {}

class XmlReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): AdValue {
    const { name, argument, empty, closing } = this.#mark();
    if (closing || depth > maxDepth) throw new NotXml();
    if (name === 'b') return argument === 't';
    if (name === 'c') return empty ? {} : this.#ad(depth + 1);
    if (name === 'l') return empty ? [] : this.#list(depth + 1);
    const content = empty ? '' : this.#content(name);
    if (name === 'i' || name === 'r') return Number(content);
    if (name === 'e') return new Expression(content.trim());
    return name === 'un' || name === 'er' ? undefined : content;
  }

  #ad(depth: number): Ad {
    const ad: Ad = {};
    for (let next = this.#mark(); !next.closing; next = this.#mark()) {
      if (next.name !== 'a') throw new NotXml();
      setAttribute(ad, unescapeXml(next.argument), this.value(depth));
      if (!this.#mark().closing) throw new NotXml();
    }
    return ad;
  }

  #list(depth: number): AdValue[] {
    const list: AdValue[] = [];
    for (let from = this.#at; !this.#mark().closing; from = this.#at) {
      this.#at = from;
      list.push(this.value(depth));
    }
    return list;
  }

  #mark(): { closing: boolean; name: string; argument: string; empty: boolean } {
    tagPattern.lastIndex = this.#at;
    const match = tagPattern.exec(this.#text);
    if (!match) throw new NotXml();
    this.#at = tagPattern.lastIndex;
    return {
      closing: match[1] === '/',
      name: match[2] ?? '',
      argument: match[3] ?? '',
      empty: match[4] === '/',
    };
  }

  #content(name: string): string {
    const end = this.#text.indexOf(`</${name}>`, this.#at);
    if (end === -1) throw new NotXml();
    const content = this.#text.slice(this.#at, end);
    this.#at = end + name.length + 3;
    return unescapeXml(content);
  }
}

const entities: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function unescapeXml(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(/&(#?\w{1,8});/g, (written, name: string) => {
    if (!name.startsWith('#')) return entities[name] ?? written;
    const code = Number(name.startsWith('#x') ? `0${name.slice(1)}` : name.slice(1));
    return code <= 0x10ffff ? String.fromCodePoint(code) : written;
  });
}
