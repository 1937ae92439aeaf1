import type { FaultKind } from '../fault/kinds.ts';
import type { Answer } from './answers.ts';
import type { Outlook, PoolCause } from './causes.ts';

/**
 * What HTCondor says of an end, and what Updraft makes of it. The first row that fits counts: those with words stand
 * before the same code without them. Sentences have names in braces for what the words say: `diagnosis` fills them in.
 */
export interface CodeRow {
  /** Any code, also none, where it is left out: then the words alone decide, and the answer is that of the code. */
  codes?: readonly number[];
  subcodes?: readonly number[];
  /** Only where HTCondor's words have one of these phrases. `#` stands for a number, `…` for anything. */
  words?: readonly string[];
  /** Only where the words name a URL like this. */
  url?: RegExp;
  cause: PoolCause;
  /** What the policy does about a hold: nothing unless it says so here. Evictions go back to the queue by themselves. */
  answer?: Answer | 'requeued';
  /** What happened, in a sentence. */
  says: string;
  /** More sentences; one whose names cannot be filled in is left out. */
  more?: readonly string[];
  /** What could be done besides what the cause advises. */
  advice?: string;
  /** Where it is another one than the cause's. */
  fault?: FaultKind;
  outlook?: Outlook;
}

/** A hold or an eviction as HTCondor gives it. */
export interface Said {
  code: number | undefined;
  subcode: number | undefined;
  reason: string;
}

/**
 * Phrases as a pattern that JavaScript and ClassAds understand alike, whatever the case. A phrase begins where a word
 * begins, and a number at its end is a whole number.
 */
export const patternOf = (phrases: readonly string[]): string =>
  `(^|[^a-z0-9_])(${phrases.map(escape).join('|')})`;

const escape = (phrase: string): string =>
  phrase
    .toLowerCase()
    .replaceAll(/[.*+?(){}|$]/g, '[$&]')
    .replaceAll('#', '[0-9]+')
    .replaceAll('…', '.*')
    .replace(/\d$/, '$&([^0-9]|$)');

const patterns = new Map<readonly string[], RegExp>();

function hasWords(text: string, phrases: readonly string[]): boolean {
  const pattern = patterns.get(phrases) ?? new RegExp(patternOf(phrases), 'is');
  patterns.set(phrases, pattern);
  return pattern.test(text);
}

/** Whether a row is for this; `any` rows are for every code. */
export function fits(row: CodeRow, { code, subcode, reason }: Said): boolean {
  if (row.codes !== undefined && (code === undefined || !row.codes.includes(code))) return false;
  if (row.subcodes !== undefined && (subcode === undefined || !row.subcodes.includes(subcode))) return false;
  if (row.url?.test(namedUrl(reason) ?? '') === false) return false;
  return row.words === undefined || hasWords(wordsOf(reason), row.words);
}

/** What a reason says of the trouble itself: not the place before it, nor names that may look like an answer. */
const wordsOf = (reason: string): string =>
  reason
    .replace(/^.*?\bdetails:/is, '')
    .replaceAll(/\(? ?URL file = [^)]*\)?/gi, '')
    .replaceAll(/\b[a-z]+:\/\/\S+/gi, '');

/** The object's URL, as plugins give it. */
export const namedUrl = (reason: string): string | undefined =>
  /URL file = (\S+)/i.exec(reason)?.[1] ??
  /\b((?:osdf|pelican|https?|stash|ftp):\/\/[^\s)'"|,;]+)/i.exec(reason)?.[1];

/** A reason that says nothing. */
export const isEmpty = (reason: string): boolean => /^(?:reason unspecified)?$/i.test(reason.trim());
