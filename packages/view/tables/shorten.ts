import { clip, widthOf } from '@updraft/base';

/**
 * Shortens these texts to at most `width` characters each, so that different ones stay different: a path to its last
 * parts, others where they differ least. No other text may be passed to the result.
 */
export function shortenDistinct(width: number, texts: Iterable<string>): (text: string) => string {
  const all = [...new Set(texts)];
  const isLong = (text: string): boolean => widthOf(text) > width;
  if (!all.some(isLong)) return String;
  let short = all;
  for (const shorten of [lastParts, differingPart, beginning, middleOut, numbered]) {
    const cut = shorten(short, width);
    if (new Set(cut).size === all.length) short = cut;
    if (!short.some(isLong)) break;
  }
  const known = new Map(all.map((text, at) => [text, short[at]]));
  return (text) => known.get(text) ?? clip(text, width);
}

/**
 * Names such as Hydra's by the fewest of their last parts that no other name ends with: `model.encoder.depth` is
 * `depth` beside `optimizer.lr`. One that another ends with stays as it is.
 */
export function shortNames(names: readonly string[]): string[] {
  const ends = new Map<string, number>();
  const endsOf = (name: string): string[] => {
    const parts = name.split('.');
    return parts.map((_, at) => parts.slice(-at - 1).join('.'));
  };
  for (const end of [...new Set(names)].flatMap(endsOf)) ends.set(end, (ends.get(end) ?? 0) + 1);
  return names.map((name) => endsOf(name).find((end) => ends.get(end) === 1) ?? name);
}

/** The texts of the least size, from 1, in which all are different; undefined if there is none up to `max`. */
export function shortestDistinct<T>(
  values: readonly T[],
  max: number,
  textOf: (value: T, size: number) => string,
): string[] | undefined {
  for (let size = 1; size <= max; size++) {
    const cut = values.map((value) => textOf(value, size));
    if (new Set(cut).size === values.length) return cut;
  }
  return undefined;
}

/** Paths by the fewest of their last parts that distinguish them: `osdf:///chtc/images.tar` is `images.tar`. */
function lastParts(texts: readonly string[]): string[] {
  const cut = (text: string, count: number) => text.replace(/\/+$/, '').split('/').slice(-count).join('/');
  return texts.some((text) => /\s/.test(text)) ? [...texts] : (shortestDistinct(texts, 8, cut) ?? [...texts]);
}

/** Without the words that all begin or end with: `bert-base-uncased` is `bert…` beside `distilbert-base-uncased`. */
function differingPart(texts: readonly string[]): string[] {
  const [start, end] = [sharedStart(texts), sharedStart(texts.map(reversed))];
  if (texts.length === 1 || texts.some(({ length }) => length <= start + end)) return [...texts];
  const [before, after] = [start > 0 ? '…' : '', end > 0 ? '…' : ''];
  return texts.map((text) => before + text.slice(start, text.length - end) + after);
}

const reversed = (text: string): string => Array.from(text).reverse().join('');

/** The length of the words that all begin with. */
function sharedStart([first = '', ...others]: readonly string[]): number {
  let length = first.length;
  for (const text of others) while (!text.startsWith(first.slice(0, length))) length -= 1;
  // The dot of a number is no end of a word.
  const words = /\s/.test(first) ? /^.*\s(?=.)/s : /^.*(?:[-_/:,=]|\.(?=\D))(?=.)/s;
  return words.exec(first.slice(0, length + 1))?.[0].length ?? 0;
}

/** What has words is read from its beginning. */
const beginning = (texts: readonly string[], width: number): string[] =>
  texts.some((text) => /\s/.test(text)) ? texts.map((text) => clip(text, width)) : [...texts];

/** Start and end of each, with the cut as near to the middle as leaves them different. */
function middleOut(texts: readonly string[], width: number): string[] {
  const shift = (size: number): number => (size % 2 === 0 ? 1 : -1) * Math.floor(size / 2);
  return (
    shortestDistinct(texts, width - 1, (text, size) => startAndEnd(text, width, shift(size))) ?? [...texts]
  );
}

/** A text in at most `width` characters, cut in the middle, or `shift` characters behind it. */
export function startAndEnd(text: string, width: number, shift = 0): string {
  const chars = Array.from(text);
  if (chars.length <= width) return text;
  const start = Math.ceil((width - 1) / 2) + shift;
  return [...chars.slice(0, start), '…', ...chars.slice(chars.length - width + 1 + start)].join('');
}

const numbered = (texts: readonly string[], width: number): string[] =>
  texts.map((text, at) =>
    widthOf(text) <= width ? text : `${clip(text, width - 1 - String(at + 1).length)}#${at + 1}`,
  );
