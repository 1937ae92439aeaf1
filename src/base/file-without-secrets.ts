import {
  accessToken,
  commandLine,
  namedSecrets,
  secretForms,
  secretInAddress,
  placedSecrets,
  rule,
  type SecretRule,
  userOption,
} from './printable.ts';

const { option, gap, inQuotes, word } = commandLine;
const inPassword = '[^\\s"\'`/.]';

/** In place of a secret in a file. */
export const removed = '[removed]';

/** The end of a name; what is before it is kept anyway, and searching it would take long in a huge word. `PWD=/folder` is a folder. */
const secretName = `(?:${accessToken}|secret|passw(?:or)?d|passphrase|pwd(?<!(?<![\\w.;-])(?:old)?pwd(?==["']?[/~]))|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key|account[_-]?key|key-data|[_-]pass(?![a-z])|credential|authorization|cookie|_key)(?![\\w-]{0,64}(?:file|path|dir|type|expir|name|url))[\\w-]{0,64}`;
const secretNamePattern = new RegExp(`^[\\w.-]*${secretName}$`, 'i');
/** Whether a variable or key of this name has a secret; the working folder is none. */
export const isSecretName = (name: string): boolean =>
  secretNamePattern.test(name) && !/^(?:OLD)?PWD$/.test(name);

/** A value in quotes, however often escaped, or up to the end of its line if they do not close; else a word. */
const quotedOrWord = String.raw`(?<escape>\\*)"[^\n]*?(?<!\\)\k<escape>"|\\*"[^\n]*|'[^'\n]*'?|(?:(?:basic|bearer|token) +)?[^\s"',;&(){}[\]]+`;

/** What a file that leaves the machine must not contain: wrongly removed words cost less than a secret. */
const files: readonly SecretRule[] = [
  ...secretForms,
  { what: 'login in a URL', pattern: secretInAddress },
  // Whatever its scheme; within quotes, up to their end.
  {
    what: 'token',
    pattern: /(\b(?:(?:proxy-)?authorization|(?:set-)?cookie):[ \t]*)(?!\[removed\])[^\n"'\\]+/gi,
  },
  ...placedSecrets,
  ...rule(
    'secret by its name',
    ...[
      // The items of a queue statement.
      `(^[ \\t]*queue\\b(?=[^\\n(]*${secretName})[^\\n(]*\\b(?:in|from)[ \\t]*\\()(?!\\[removed\\])[^)]+`,
      // A block of YAML: the indented lines.
      `(^([ \\t]*)[\\w.-]*${secretName}\\s*[:=][ \\t]*)[|>][+-]?[ \\t]*(?:\\n\\2[ \\t]+[^\\n]*)+`,
      // A line of a submit file, an ad or an INI file: its value may have several words.
      `(^[ \\t]*\\+?[\\w.-]*${secretName}[ \\t]+=[ \\t]+)(?!(?:true|false|null|none|\\d{1,6})\\b|\\[removed\\])(?:[^\\n]*\\\\\\r?\\n)*[^\\n]*\\S`,
      `(${secretName}\\\\*["']?\\s*(?:(?:=>|:)\\s*|=(?![?!]=)[ \\t]*(?:\\\\\\r?\\n[ \\t]*)?))(?!(?:true|false|null|none|\\d{1,6})\\b|\\[removed\\])(?:${quotedOrWord})`,
      // In a sentence: `passwd is a1`, `password for the database: a1`.
      `(\\b(?:passw(?:or)?d|passphrase|pwd|pw)\\b(?: (?:is|was)|[^\\n:=]{0,40}:)[ \\t]*["'\`]?)(?=[^\\s"'\`]*\\d)${word}`,
    ].map((source) => new RegExp(source, 'gim')),
    /(^[ \t]*pass[ \t]*=[ \t]*)(?!\[removed\])[^\n]+/gim,
  ),
  ...rule(
    'login',
    // Of any program: `-u me:word`, not two numbers, and `-p`, if it looks like a password.
    new RegExp(
      `(${userOption})(?!//|\\[removed\\]|(?<=[\\s"'u]\\d{1,9}:)\\d+(?!\\S))(?:${inQuotes}|${word})`,
      'g',
    ),
    new RegExp(
      `(${option}p(?:${gap})?)(?=${inPassword}{0,64}[a-z])(?=${inPassword}{0,64}[A-Z])(?=${inPassword}{0,64}\\d)${inPassword}{8,}[^\\s"'\`/]*`,
      'g',
    ),
  ),
  // What follows a word for a key, in any sentence.
  {
    what: 'key',
    pattern:
      /(\b(?:netrc|api|\w{0,64}key|token|login|credentials?)\b[^\n]{0,100}?[\s:="'])(?=[\w-]*\d)[\w-]{32,}(?![\w/.@-])/gi,
  },
  ...namedSecrets,
];

const firstGroup = ([, group]: unknown[]): string => (typeof group === 'string' ? group : '');

/** How many secrets of each kind were removed. */
export type SecretCounts = Map<string, number>;

function count(counts: SecretCounts, what: string): string {
  counts.set(what, (counts.get(what) ?? 0) + 1);
  return removed;
}

/** The content of a file without secrets, nor the values of environment variables; JSON stays JSON. */
export function fileWithoutSecrets(text: string, counts: SecretCounts): string {
  const whole = parsed(text);
  if (whole !== undefined) return `${JSON.stringify(cleanJson(whole, counts), null, 2)}\n`;
  const isJsonLine = (line: string): boolean => line.startsWith('{') && line.trimEnd().endsWith('}');
  if (!isJsonLine(text)) return cleanText(cleanEnvironment(text, counts), counts);
  return text
    .split('\n')
    .map((line) => {
      const value = isJsonLine(line) ? parsed(line) : undefined;
      return value === undefined ? cleanText(line, counts) : JSON.stringify(cleanJson(value, counts));
    })
    .join('\n');
}

function parsed(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

const cleanText = (text: string, counts: SecretCounts): string =>
  files.reduce(
    (kept, { what, pattern }) =>
      kept.replaceAll(pattern, (...match) => `${firstGroup(match)}${count(counts, what)}`),
    text,
  );

/** Some lines without secrets; values of variables stay if their names are harmless. */
export const textWithoutSecrets = (text: string): string => cleanText(text, new Map());

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
    (kept, rule) =>
      kept.replaceAll(rule.pattern, (...match) =>
        secretForms.includes(rule) || secrets.has(unquoted(valueIn(match)))
          ? `${firstGroup(match)}${removed}`
          : match[0],
      ),
    sentence,
  );

/** The secrets of a text, without quotes around them. */
export const secretsIn = (text: string): string[] =>
  files
    // Most texts have none, and a search is faster.
    .filter(({ pattern }) => text.search(pattern) !== -1)
    .flatMap(({ pattern }) => [...text.matchAll(pattern)])
    .map((match) => unquoted(valueIn(match)))
    .filter((value) => value !== '');

const valueIn = (match: unknown[]): string => String(match[0]).slice(firstGroup(match).length);
const unquoted = (value: string): string => value.replaceAll(/^[\\"']+|[\\"']+$/g, '');

const isEnvironment = /^(?:env|environment|secrets)$/i;

function cleanJson(value: unknown, counts: SecretCounts, isHidden = false): unknown {
  if (typeof value === 'string') return isHidden ? count(counts, 'variable') : cleanText(value, counts);
  if (Array.isArray(value))
    return value.map((one: unknown, index) =>
      cleanJson(one, counts, isHidden || isOptionValue(value.slice(Math.max(0, index - 8), index), one)),
    );
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      cleanText(key, counts),
      cleanJson(one, counts, isHidden || isEnvironment.test(key) || isSecretName(key) || isKey(key, one)),
    ]),
  );
}

const isOption = (word: unknown): boolean => typeof word === 'string' && word.startsWith('-');

/** Whether a word of a command in a list is a secret by the words before it. */
function isOptionValue(before: readonly unknown[], word: unknown): boolean {
  if (typeof word !== 'string' || ![before.at(-1), word].some(isOption)) return false;
  const words = before.filter((one) => typeof one === 'string');
  return !cleanText([...words, word].join(' '), new Map()).endsWith(word);
}

/** As in `kaggle.json`. */
const isKey = (name: string, value: unknown): boolean =>
  /^key$/i.test(name) && typeof value === 'string' && /^[\w-]{24,}$/.test(value);

const environmentLine = /^([ \t]*(?:\+|MY\.)?env(?:ironment)?[ \t]*=[ \t]*)((?:.*\\\r?\n)*.*)$/gim;

/** Variables of a submit file or ad, and of TOML and YAML job files, keep only their names. */
function cleanEnvironment(text: string, counts: SecretCounts): string {
  const lines = text.replaceAll(environmentLine, (_, start: string, value: string) => {
    const names = variableNames(value);
    return `${start}${names.map((name) => `${name}=${count(counts, 'variable')}`).join(' ')}`;
  });
  return lines
    .replaceAll(
      /^([ \t]*\[[\w.]*\benv\][^\n]*\n)((?:(?!\s*\[)[^\n]*\n?)*)/gm,
      (_, head: string, body: string) => head + cleanBlock(body, /^\s*("[^"]*"|[\w.-]+)\s*=/, counts),
    )
    .replaceAll(
      /^([ \t]*)(env:[ \t]*\n)((?:\1[ \t]+[^\n]*\n?|[ \t]*\n)*)/gm,
      (_, indent: string, head: string, body: string) =>
        indent + head + cleanBlock(body, /^\s*("[^"]*"|[\w.-]+):/, counts),
    )
    .replaceAll(/^([ \t]*env:[ \t]*)\{[^}]*\}/gm, (_, head: string) => head + count(counts, 'variable'));
}

/** `"A=1 B='x y'"`, or `A=1;B=2` as old submit files have it, or `{ A = "1" }` of TOML. */
function variableNames(value: string): string[] {
  const inner = value.replaceAll(/\\\r?\n/g, ' ').trim();
  const pieces = inner.startsWith('{')
    ? [...inner.matchAll(/([\w-]+)\s*=\s*(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^,}]*)/g)].map(
        ([, name = '']) => `${name}=`,
      )
    : inner.startsWith('"')
      ? (inner.slice(1).match(/(?:[^\s']|'(?:[^']|'')*')+/g) ?? [])
      : inner.split(/[;|]/);
  return pieces.flatMap((piece) => /^\s*([A-Za-z_]\w*)=/.exec(piece)?.[1] ?? []);
}

/** Only lines that begin a variable, without its value, which may have several lines. */
function cleanBlock(body: string, variable: RegExp, counts: SecretCounts): string {
  const [indent = ''] = /^[ \t]*/.exec(body) ?? [];
  let closes: string | undefined;
  const kept = body.split('\n').flatMap((line) => {
    if (closes !== undefined) {
      if (line.includes(closes)) closes = undefined;
      return [];
    }
    const start = variable.exec(line)?.[0];
    if (start === undefined || !line.startsWith(indent) || /^\s/.test(line.slice(indent.length))) return [];
    const value = line.slice(start.length).trim();
    const quotes = /^("""|''')/.exec(value)?.[1];
    if (quotes !== undefined && !value.slice(3).includes(quotes)) closes = quotes;
    return [`${start} "${count(counts, 'variable')}"`];
  });
  return kept.length === 0 ? '' : `${kept.join('\n')}\n`;
}
