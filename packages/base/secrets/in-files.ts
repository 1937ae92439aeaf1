import {
  accessToken,
  any,
  namedSecrets,
  placedSecrets,
  secretForms,
  secretInAddress,
} from './in-messages.ts';
import { gap, givenSecrets, option, userOption, userPassword, word } from './in-text.ts';

/** In place of a secret in a file. */
export const removed = '[removed]';
const isRemoved = '(?!\\[removed\\])';
const noSecret = '(?!(?:true|false|null|none|\\d{1,6})\\b|\\[removed\\])';

/** `PWD=/folder` is a folder. */
const workingFolder = '(?<![\\w.;-])(?:old)?pwd(?==["\']?[/~])';
/** The end of a name; what is before it is kept anyway, and searching it would take long in a huge word. */
const secretName = `${any(
  ...[accessToken, 'secret', 'passw(?:or)?d', 'passphrase', `pwd(?<!${workingFolder})`, '[_-]pass(?![a-z])'],
  ...['(?:api|access|private|auth|account)[_-]?key', 'key-data', '_key(?![_-])'],
  ...['credential', 'authorization', 'cookie'],
)}(?![\\w-]{0,64}(?:file|path|dir|type|expir|name|url))[\\w-]{0,64}`;
const secretNamePattern = new RegExp(`^[\\w.-]*${secretName}$|^(?:.*_)?(?:key|pass|pw)$`, 'i');
/** Whether a variable or key of this name has a secret; the working folder is none. */
export const isSecretName = (name: string): boolean =>
  secretNamePattern.test(name) && !/^(?:OLD)?PWD$/.test(name);

/** A value in quotes, however often escaped, or up to the end of its line if they do not close; else a word. */
const value = any(
  String.raw`(?<escape>\\*)"[^\n]*?(?<!\\)\k<escape>"|\\*"[^\n]*|'[^'\n]*'?`,
  String.raw`(?:(?:basic|bearer|token) +)?[^\s"',;&(){}[\]]+`,
);
const assigned = '\\\\*["\']?\\s*(?:(?:=>|:)\\s*|=(?![?!]=)[ \\t]*(?:\\\\\\r?\\n[ \\t]*)?)';
const named = [
  // The items of a queue statement.
  `(^[ \\t]*queue\\b(?=[^\\n(]*${secretName})[^\\n(]*\\b(?:in|from)[ \\t]*\\()${isRemoved}[^)]+`,
  // A block of YAML: the indented lines.
  `(^([ \\t]*)[\\w.-]*${secretName}\\s*[:=][ \\t]*)[|>][+-]?[ \\t]*(?:\\n\\2[ \\t]+[^\\n]*)+`,
  // A line of a submit file, an ad or an INI file: its value may have several words.
  `(^[ \\t]*\\+?[\\w.-]*${secretName}[ \\t]+=[ \\t]+)${noSecret}(?:[^\\n]*\\\\\\r?\\n)*[^\\n]*\\S`,
  `(^[ \\t]*pass[ \\t]*=[ \\t]*)${isRemoved}[^\\n]+`,
  `(${secretName}${assigned})${noSecret}${value}`,
  // In a sentence: `passwd is a1`, `password for the database: a1`.
  `(\\b(?:passw(?:or)?d|passphrase|pwd|pw)\\b(?: (?:is|was)|[^\\n:=]{0,40}:)[ \\t]*["'\`]?)` +
    `(?=[^\\s"'\`]{0,99}\\d)${word}`,
].map((source) => new RegExp(source, 'gim'));

const inPassword = '[^\\s"\'`/.]';
const has = (letters: string): string => `(?=${inPassword}{0,64}${letters})`;
/** Whose `-p` is no password. */
const otherPrograms = '(?<!\\b(?:mkdir|cp|srun|sbatch|salloc|ssh|install)\\b[^\\n|;&]{0,200})';

/** What must not be shown of a submit file or a log: wrongly removed words cost less than a secret. */
const files: readonly RegExp[] = [
  ...secretForms,
  secretInAddress,
  // Whatever its scheme; within quotes, up to their end.
  new RegExp(`(\\b(?:(?:proxy-)?authorization|(?:set-)?cookie):[ \\t]*)${isRemoved}[^\\n"'\\\\]+`, 'gi'),
  ...placedSecrets,
  ...named,
  // Of any program: `-u me:word`, not two numbers, and `-p`, if it looks like a password.
  new RegExp(`(${userOption})(?!//|(?<=[\\s"'u]\\d{1,9}:)\\d+(?!\\S))${isRemoved}${userPassword}`, 'g'),
  new RegExp(
    `(${otherPrograms}${option}p(?:${gap})?)` +
      `${has('[a-z]')}${has('[A-Z]')}${has('\\d')}${inPassword}{8,}[^\\s"'\`/]*`,
    'g',
  ),
  // What follows a word for a key, in any sentence.
  new RegExp(
    `(\\b${any('netrc', 'api', '\\w{0,64}key', 'token', 'login', 'credentials?')}\\b[^\\n]{0,100}?[\\s:="'])` +
      '(?=[\\w-]{0,99}\\d)[\\w-]{32,}(?![\\w/.@-])',
    'gi',
  ),
  ...givenSecrets,
  ...namedSecrets,
];

const firstGroup = ([, group]: unknown[]): string => (typeof group === 'string' ? group : '');

/** Some lines without secrets; values of variables stay if their names are harmless. */
export const textWithoutSecrets = (text: string): string =>
  files.reduce((kept, pattern) => kept.replaceAll(pattern, (...match) => firstGroup(match) + removed), text);

/** The words of a command without secrets; the names of options and variables stay. */
export const wordsWithoutSecrets = (words: readonly string[]): string[] =>
  words.map((word, index) => {
    const before = words.slice(Math.max(0, index - 8), index);
    const [start = '', name = ''] = /^([\w.-]+)=/.exec(word) ?? [];
    const clean = textWithoutSecrets(word);
    // A value of several words has no quotes here.
    const isSecret = isOptionValue(before, word) || (isSecretName(name) && clean !== word);
    return isSecret ? start + removed : isInSecret(before) ? removed : clean;
  });

/** Whether a secret in quotes, which were not meant as words, has begun and not ended in these words. */
const isInSecret = (words: readonly string[]): boolean => {
  const from = words.findLastIndex((word, index) => isOptionValue(words.slice(0, index), word));
  const [, quote] = /^(?:[\w.-]+=)?(["'])/.exec(words[from] ?? '') ?? [];
  return quote !== undefined && words.slice(from).join(' ').split(quote).length === 2;
};

/** A sentence without values that have the form of a secret, and without those of `secrets` beside their names. */
export const knownSecretsRemoved = (sentence: string, secrets: ReadonlySet<string>): string =>
  files.reduce(
    (kept, pattern) =>
      kept.replaceAll(pattern, (...match) =>
        secretForms.includes(pattern) || secrets.has(unquoted(valueIn(match)))
          ? `${firstGroup(match)}${removed}`
          : match[0],
      ),
    sentence,
  );

/** The secrets of a text, without quotes around them. */
export const secretsIn = (text: string): string[] =>
  files
    // Most texts have none, and a search is faster.
    .filter((pattern) => text.search(pattern) !== -1)
    .flatMap((pattern) => [...text.matchAll(pattern)])
    .map((match) => unquoted(valueIn(match)))
    .filter((value) => value !== '');

const valueIn = (match: unknown[]): string => String(match[0]).slice(firstGroup(match).length);
const unquoted = (value: string): string => value.replaceAll(/^[\\"']+|[\\"']+$/g, '');

/** Whether a word of a command in a list is a secret by the words before it. */
function isOptionValue(before: readonly string[], word: string): boolean {
  if (![before.at(-1), word].some((one) => one?.startsWith('-'))) return false;
  return !textWithoutSecrets([...before, word].join(' ')).endsWith(word);
}
