import type { FaultKind } from '../fault/kinds.ts';
import type { Remedy } from './remedies.ts';
import type { Outlook, PoolCause } from './causes.ts';

/**
 * What HTCondor says of an end, and what Updraft makes of it. The first row that fits counts: those with words stand
 * before the same code without them. Sentences have names in braces for what the words say: `diagnosis` fills them in.
 */
export interface CodeRow {
  /** Any code, also none, where it is left out: then the words alone decide, and the answer is that of the code. */
  codes?: readonly number[];
  subcodes?: readonly number[];
  /** Only where HTCondor's words have one of these phrases, with `|` between them; `#` is a number, `…` anything. */
  phrases?: string;
  /** Only where the words name a URL like this. */
  url?: RegExp;
  cause: PoolCause;
  /** What the policy does about a hold: nothing unless it says so here. Evictions go back to the queue by themselves. */
  answer?: Remedy | 'requeued';
  /** What happened, in a sentence. */
  sentence: string;
  /** More sentences; one whose names cannot be filled in is left out. */
  more?: readonly string[];
  /** What could be done besides what the cause advises. */
  advice?: string;
  /** Where it is another one than the cause's. */
  fault?: FaultKind;
  outlook?: Outlook;
}

/** Rows of the same cause and answer that have little more than a code and a sentence. */
export const rowsWith = (
  cause: PoolCause,
  answer: CodeRow['answer'] & string,
  rows: readonly [codes: number | readonly number[], sentence: string, advice?: string][],
): CodeRow[] =>
  rows.map(([codes, sentence, advice]) => {
    const row = { codes: typeof codes === 'number' ? [codes] : codes, cause, answer, sentence };
    return advice === undefined ? row : { ...row, advice };
  });

/** A hold or an eviction as HTCondor gives it. */
export interface ReportedReason {
  code: number | undefined;
  subcode: number | undefined;
  reason: string;
}

/**
 * Phrases as a pattern that JavaScript and ClassAds understand alike, whatever the case. A phrase begins where a word
 * begins, and a number at its end is a whole number.
 */
export const patternOf = (phrases: string): string =>
  `(^|[^a-z0-9_])(${phrases.split('|').map(escape).join('|')})`;

const escape = (phrase: string): string =>
  phrase
    .toLowerCase()
    .replaceAll(/[.*+?(){}$]/g, '[$&]')
    .replaceAll('#', '[0-9]+')
    .replaceAll('…', '.*')
    .replace(/\d$/, '$&([^0-9]|$)');

const patterns = new Map<string, RegExp>();

function hasPhrase(text: string, phrases: string): boolean {
  const pattern = patterns.get(phrases) ?? new RegExp(patternOf(phrases), 'is');
  patterns.set(phrases, pattern);
  return pattern.test(text);
}

/** A question to rows whether they are for this; the words are made ready once. */
export function matchesRow({ code, subcode, reason }: ReportedReason): (row: CodeRow) => boolean {
  const [words, url = ''] = [normalize(reason), namedUrl(reason)];
  return (row) =>
    (row.codes === undefined || (code !== undefined && row.codes.includes(code))) &&
    (row.subcodes === undefined || (subcode !== undefined && row.subcodes.includes(subcode))) &&
    (row.phrases === undefined || hasPhrase(words, row.phrases)) &&
    (row.url === undefined || row.url.test(url));
}

/** What a reason says of the trouble itself: not the place before it, nor names that may look like an answer. */
const normalize = (reason: string): string =>
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
