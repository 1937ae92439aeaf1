import type { FaultKind } from '../fault/kinds.ts';
import type { Remedy } from './remedies.ts';
import type { Outlook, PoolCause } from './causes.ts';

/**
 * What HTCondor says about an end, and how Updraft reads it. The first matching row applies: rows with phrases come
 * before those with the code alone. `diagnosis` fills in the names in braces, such as `{url|a file}`.
 */
export interface CodeRow {
  /** Default: any code or none. Then the words decide, and the remedy is that of the code. */
  codes?: readonly number[];
  subcodes?: readonly number[];
  /** HTCondor's words must contain one of these phrases, separated by `|`; `#` is a number, `…` anything. */
  phrases?: string;
  /** The words must name a URL like this. */
  url?: RegExp;
  cause: PoolCause;
  /** What the policy does about a hold; default: nothing. HTCondor itself requeues evictions. */
  answer?: Remedy | 'requeued';
  /** What happened, in a sentence. */
  sentence: string;
  /** More sentences; one whose names cannot be filled in is omitted. */
  more?: readonly string[];
  /** In addition to the advice of the cause. */
  advice?: string;
  /** Default: that of the cause. */
  fault?: FaultKind;
  outlook?: Outlook;
}

/** Short rows with a common cause and answer. */
export const rowsWith = (
  cause: PoolCause,
  answer: CodeRow['answer'] & string,
  rows: readonly [codes: number | readonly number[], sentence: string, advice?: string][],
): CodeRow[] =>
  rows.map(([codes, sentence, advice]) => {
    const row = { codes: typeof codes === 'number' ? [codes] : codes, cause, answer, sentence };
    return advice === undefined ? row : { ...row, advice };
  });

/** A hold or an eviction as HTCondor reports it. */
export interface ReportedReason {
  code: number | undefined;
  subcode: number | undefined;
  reason: string;
}

/**
 * Phrases as a pattern for JavaScript and ClassAds, to be matched without regard to case. A phrase starts at the start
 * of a word, and a number at its end is not the start of a longer one.
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

/** Tests rows; the words are normalized once. */
export function matchesRow({ code, subcode, reason }: ReportedReason): (row: CodeRow) => boolean {
  const [words, url = ''] = [normalize(reason), namedUrl(reason)];
  return (row) =>
    (row.codes === undefined || (code !== undefined && row.codes.includes(code))) &&
    (row.subcodes === undefined || (subcode !== undefined && row.subcodes.includes(subcode))) &&
    (row.phrases === undefined || hasPhrase(words, row.phrases)) &&
    (row.url === undefined || row.url.test(url));
}

/**
 * The part of a reason that describes the failure: without URLs and the host before it, which may contain any word.
 * That the execution point failed while it sent output is kept, because then the full disk is there.
 */
const normalize = (reason: string): string =>
  reason
    .replace(/^.*?\bdetails:/is, (head) => /while sending files to access point/i.exec(head)?.[0] ?? '')
    .replaceAll(/\(? ?URL file = [^)]*\)?/gi, '')
    .replaceAll(/\b[a-z]+:\/\/\S+/gi, '');

/** The object's URL, as plugins report it. */
export const namedUrl = (reason: string): string | undefined =>
  /URL file = (\S+?)\)?\|?(?:\s|$)/i.exec(reason)?.[1] ??
  /\b((?:osdf|pelican|https?|stash|ftp):\/\/[^\s)'"|,;]+)/i.exec(reason)?.[1];

export const isEmpty = (reason: string): boolean => /^(?:reason unspecified)?$/i.test(reason.trim());
