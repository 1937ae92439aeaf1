import { shortenDistinct } from './shorten.ts';
import { clip, longestOf, pad, widthOf } from '@updraft/base';

/** A column of a table on a page of limited width. */
export interface FitColumn {
  title: string;
  align?: 'left' | 'right';
  /**
   * Of the columns with the largest rank, the last is left out first; those of rank 0 always stay. Without one, it is 0
   * for names, sentences and columns without a title, else 1.
   */
  rank?: number;
  /** Its words are not cut below this width. */
  minWidth?: number;
  /** Whether each text is one value, with whatever spaces, and not a name of several words. */
  isValue?: boolean;
  /** For a narrow page: `0003 0.1` for `0003 lr=0.1`, under `job, lr`. Spaces inside of a word do not break. */
  short?: { title: string; texts: ReadonlyMap<string, string> };
}

export interface FittedTable {
  /** The titles, which may take several lines. */
  head: string[];
  rows: string[];
  /** The titles of columns that are left out. */
  hidden: string[];
}

interface Laid extends FitColumn {
  texts: readonly string[];
  /** The lines of the title. */
  head: string[];
  /** What the texts need, and what they need with the title. */
  textWidth: number;
  width: number;
  /** A sentence is cut at its end. */
  isSentence: boolean;
}

const gap = 2;
/** Of a title over whole texts, and over texts that are cut. */
const maxTitleLines = { whole: 3, cut: 6 };
/**
 * Names of rows (the number of a job and a long value), sentences and other words are not cut below these widths. Names
 * may take half of the page.
 */
const minWidths = { name: 25, sentence: 24, word: 16 };

/**
 * A table of at most `width` characters. Long titles are folded first, then words are cut so that different ones stay
 * different, then columns are left out. Numbers are never cut: where they do not fit, lines are longer. Columns
 * that are empty in every row are no part of it.
 */
export function fitTable(
  columns: readonly FitColumn[],
  rows: readonly (readonly string[])[],
  width: number,
): FittedTable {
  const all = columns
    .map((column, at) => {
      const isSentence = at > 0 && at === columns.length - 1 && column.align !== 'right';
      const { title, rank = at === 0 || isSentence || title === '' ? 0 : 1 } = column;
      const texts = rows.map((row) => row[at] ?? '');
      return lay({ ...column, rank, isSentence }, texts);
    })
    .filter(({ textWidth }) => textWidth > 0);
  let shown = all;
  for (;;) {
    const fitted = squeeze(shown, width);
    const max = Math.max(0, ...shown.map(({ rank = 0 }) => rank));
    if (max === 0 || widthOfAll(fitted) <= width) {
      const hidden = all.filter((column) => !shown.includes(column)).map(({ title }) => title);
      return { ...linesOf(fitted, rows.length, width), hidden };
    }
    const at = shown.findLastIndex(({ rank }) => rank === max);
    shown = shown.toSpliced(at, 1);
  }
}

type Unlaid = FitColumn & Pick<Laid, 'isSentence'> & Partial<Laid>;

function lay(column: Unlaid, texts: readonly string[], foldTo = Infinity, maxLines?: number): Laid {
  const textWidth = (column.texts === texts ? column.textWidth : undefined) ?? longestOf(texts);
  const head = foldTitle(column.title, Math.max(textWidth, foldTo), maxLines);
  return { ...column, texts, head, textWidth, width: Math.max(textWidth, longestOf(head)) };
}

/** A title in a few lines, broken after spaces and between the words of a name, as narrow as can be. */
function foldTitle(title: string, width: number, maxLines = maxTitleLines.whole): string[] {
  const words = title.match(/[^ _./-]*[ _./-]*/g) ?? [];
  for (let room = width; room < widthOf(title); room++) {
    const lines: string[] = [];
    for (const word of words) {
      const line = `${lines.at(-1) ?? ''}${word}`;
      if (lines.length > 0 && widthOf(line.trimEnd()) <= room) lines[lines.length - 1] = line;
      else lines.push(word);
    }
    const folded = lines.map((line) => line.trimEnd()).filter((line) => line !== '');
    if (folded.length <= maxLines && longestOf(folded) <= room) return folded;
  }
  return [title];
}

const widthOfAll = (columns: readonly Laid[]): number =>
  columns.reduce((sum, { width }) => sum + width + gap, -gap);

/** The columns in less room, if not all fit as they are. */
function squeeze(columns: readonly Laid[], width: number): Laid[] {
  const folded = (one: Laid): Laid => lay(one, one.texts, 0);
  let laid = [...columns];
  if (widthOfAll(laid) > width) laid = columns.map(folded);
  if (widthOfAll(laid) > width) laid = columns.map((one) => folded(shortened(one)));
  if (widthOfAll(laid) > width) laid = cutWords(laid, width);
  // What room is left unfolds the titles that gain most by little.
  for (const one of laid.toSorted((a, b) => widthOf(a.title) - a.width - (widthOf(b.title) - b.width))) {
    const whole = lay(one, one.texts);
    if (widthOfAll(laid) + whole.width - one.width <= width) laid = laid.with(laid.indexOf(one), whole);
  }
  return laid;
}

/** With the shorter texts, for those that have one. */
function shortened({ short, ...column }: Laid): Laid {
  if (short === undefined) return column;
  const texts = column.texts.map((text) => short.texts.get(text) ?? text);
  return lay({ ...column, title: short.title }, texts, 0);
}

/** Takes from the widest words until all fit, or none may be narrower. */
function cutWords(columns: readonly Laid[], width: number): Laid[] {
  const floors = columns.map(({ align, title, texts, isSentence, textWidth, minWidth }, at) => {
    if (align === 'right') return Infinity;
    const usual = minWidths[at === 0 ? 'name' : isSentence ? 'sentence' : 'word'];
    const ofNames = at === 0 ? Math.min(narrowestWidth(texts), Math.floor(width / 2)) : 0;
    const floor = Math.min(textWidth, minWidth ?? Math.max(usual, ofNames));
    return Math.max(floor, longestOf(foldTitle(title, floor, maxTitleLines.cut)));
  });
  const widths = columns.map((column) => column.width);
  takeFromWidest(widths, floors, widthOfAll(columns) - width);
  return columns.map((column, at) => {
    const room = widths[at] ?? 0;
    if (room === column.width) return column;
    const texts = column.isSentence
      ? column.texts.map((text) => clip(text, room))
      : (column.isValue === true ? cutValues : cutNames)(column.texts, room);
    return lay(column, texts, room, maxTitleLines.cut);
  });
}

function takeFromWidest(widths: number[], floors: readonly number[], excess: number): void {
  for (let left = excess; left > 0; left--) {
    const loose = widths.map((width, at) => (width > (floors[at] ?? 0) ? width : 0));
    const widest = Math.max(...loose);
    if (widest === 0) return;
    widths[loose.indexOf(widest)] = widest - 1;
  }
}

/** Different names of at most `width` characters, if numbers allow. */
export const fitNames = (names: readonly string[], width: number): readonly string[] =>
  longestOf(names) <= width ? names : cutNames(names, width);

const plainSpaces = (text: string): string => text.replaceAll('\u00a0', ' ');

/**
 * Names of several words keep each of them if they can, then those in which the names differ most. A word keeps its
 * beginning where that distinguishes it; numbers are not cut.
 */
function cutNames(names: readonly string[], width: number): string[] {
  const rows = names.map((name) => name.split(' '));
  const { words, widths, floors } = wordsOf(rows);
  if (words.length < 2) return cutValues(names, width);
  takeFromWidest(widths, floors, widthOfWords(widths) - width);
  const leftOut = fewestValues(words, widths, width);
  const cuts = words.map((texts, at) => {
    const cut = leftOut.has(at) ? texts.map(() => '…') : cutDistinct(texts, widths[at] ?? 0);
    return new Map(texts.map((text, index) => [text, cut[index]]));
  });
  const cut = rows.map((row) => row.map((word, at) => cuts[at]?.get(word) ?? word).join(' '));
  const isGood = longestOf(cut) <= width && new Set(cut).size === new Set(names).size;
  return isGood ? cut : names.map(shortenDistinct(width, names));
}

const cutValues = (texts: readonly string[], width: number): string[] =>
  texts.every(isFigure) ? [...texts] : cutDistinct(texts, width);

/** The different words at each place of names, how wide they are, and how narrow they may be. */
function wordsOf(rows: readonly string[][]): { words: string[][]; widths: number[]; floors: number[] } {
  const count = rows.reduce((max, { length }) => Math.max(max, length), 0);
  const words = Array.from({ length: count }, (_, at) => [...new Set(rows.map((row) => row[at] ?? ''))]);
  const widths = words.map(longestOf);
  const floorOf = (width: number, at: number): number =>
    words[at]?.every(isFigure) === true ? width : Math.min(width, minWordWidth);
  return { words, widths, floors: widths.map(floorOf) };
}

const widthOfWords = (widths: readonly number[]): number => widths.reduce((sum, one) => sum + one + 1, -1);

/** What names need to keep each of their words. */
const narrowestWidth = (names: readonly string[]): number =>
  widthOfWords(wordsOf(names.map((name) => name.split(' '))).floors);

/** The places whose words are left out, of the fewest different words first, until the others fit. */
function fewestValues(words: readonly string[][], widths: readonly number[], width: number): Set<number> {
  const leftOut = new Set<number>();
  const excess = (): number => widthOfWords(widths.map((one, at) => (leftOut.has(at) ? 1 : one))) - width;
  const order = words.map((_, at) => at).sort((a, b) => (words[a]?.length ?? 0) - (words[b]?.length ?? 0));
  for (const at of order) if (excess() > 0) leftOut.add(at);
  return leftOut;
}

/** Less of a word says nothing. */
const minWordWidth = 5;
const isFigure = (word: string): boolean => word === '' || !Number.isNaN(Number(word));

function cutDistinct(texts: readonly string[], width: number): string[] {
  const clipped = texts.map((text) => clip(text, width));
  return new Set(clipped).size === new Set(texts).size ? clipped : texts.map(shortenDistinct(width, texts));
}

function linesOf(columns: readonly Laid[], count: number, width: number): Pick<FittedTable, 'head' | 'rows'> {
  const line = (textOf: (column: Laid) => string | undefined): string => {
    const cells = columns.map((column) => pad(textOf(column) ?? '', column.width, column.align));
    const whole = plainSpaces(cells.join(' '.repeat(gap)).trimEnd());
    // Only a sentence may lose its end.
    const before = widthOfAll(columns.filter(({ isSentence }) => !isSentence)) + gap;
    return columns.at(-1)?.isSentence === true ? clip(whole, Math.max(width, before + 1)).trimEnd() : whole;
  };
  const height = Math.max(0, ...columns.map(({ head }) => head.length));
  return {
    head: Array.from({ length: height }, (_, at) => line(({ head }) => head[at - height + head.length])),
    rows: Array.from({ length: count }, (_, at) => line(({ texts }) => texts[at])),
  };
}
