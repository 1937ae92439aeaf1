import { asFound, nearest, type SourceLine } from '@updraft/base';
import type { DagCommand, NodeType, ScriptTime, InlineDescription } from './dag-command.ts';

/** The lines of a DAG file: comments and empty lines are skipped, and `\` at the end continues a line. */
class DagLines {
  readonly #text: string;
  readonly #file: string;
  #at = 0;
  #line = 0;
  /** A command whose continuation is missing. */
  unfinished: SourceLine | undefined;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
  }

  next(): { text: string; place: SourceLine } | undefined {
    let text = '';
    let place: SourceLine | undefined;
    for (;;) {
      const line = this.raw();
      if (line === undefined) break;
      if (place === undefined && !line.text.endsWith('\\')) return line;
      place ??= line.place;
      text += `${text === '' ? '' : ' '}${line.text}`;
      if (!text.endsWith('\\')) return { text, place };
      text = text.slice(0, -1);
    }
    this.unfinished = place;
    return undefined;
  }

  /** The next line by itself. */
  raw(): { text: string; place: SourceLine } | undefined {
    while (this.#at < this.#text.length) {
      const end = this.#text.indexOf('\n', this.#at);
      const text = this.#text.slice(this.#at, end === -1 ? undefined : end).trim();
      this.#at = end === -1 ? this.#text.length : end + 1;
      this.#line += 1;
      if (text !== '' && !text.startsWith('#') && !text.startsWith('//'))
        return { text, place: { file: this.#file, line: this.#line } };
    }
    return undefined;
  }

  /** A submit description up to the line that closes it, and what follows on that line. */
  description(close: string): { inline: InlineDescription; after: string } {
    if (close === '@') throw new DagSyntax('`@=` names no closing word');
    const place = { file: this.#file, line: this.#line };
    const texts: string[] = [];
    for (let line = this.raw(); line !== undefined; line = this.raw()) {
      if (line.text === close || line.text.startsWith(`${close} `)) {
        const text = texts.join('\n');
        return { inline: { text, place }, after: line.text.slice(close.length) };
      }
      while (texts.length < line.place.line - 1) texts.push('');
      texts.push(line.text);
    }
    throw new DagSyntax(`the submit description has no closing \`${close}\``);
  }
}

/** The word that closes an inline description; undefined for the name of a file. */
function closingOf(word: string): string | undefined {
  if (word.startsWith('{')) return '}';
  return word.startsWith('@=') ? `@${word.slice(2)}` : undefined;
}

const isBlank = (char: string): boolean => char === ' ' || char === '\t' || char === '\r';
const isQuote = (char: string): boolean => char === '"' || char === "'";

const startOfPair = /[ \t\r]*([^ \t\r=]*)([ \t\r]*=?)[ \t\r]*/y;

/** Why a line of a DAG file cannot be read. */
class DagSyntax extends Error {}

/** Splits a line of a DAG file into words as DAGMan does: in quotes, a backslash takes the next character literally. */
class DagLexer {
  readonly place: SourceLine;
  readonly #text: string;
  #at = 0;

  constructor(text: string, place: SourceLine) {
    this.#text = text;
    this.place = place;
  }

  /** The next word, empty at the end of the line; `quotes` says whether it keeps its quotes. */
  next(quotes: 'kept' | 'removed' = 'kept'): string {
    let word = '';
    let quote = '';
    const plain = this.#plainWord();
    if (plain !== undefined) return plain;
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#text.charAt(this.#at);
      if (quote === '') {
        if (isBlank(char)) {
          if (word !== '') break;
        } else if (isQuote(char)) {
          quote = char;
          if (quotes === 'kept') word += char;
        } else word += char;
      } else if (char === '\\') word += this.#text.charAt(++this.#at);
      else if (char === quote) {
        if (quotes === 'kept') word += char;
        quote = '';
      } else word += char;
    }
    if (quote !== '') throw new DagSyntax(`a ${quote} has no closing ${quote}`);
    return word;
  }

  /** The word that the line begins with; the whole line if that has quotes, which no keyword has. */
  first(): string {
    return this.#plainWord() ?? this.rest();
  }

  /** Almost all words have no quotes: then they are a part of the line. */
  #plainWord(): string | undefined {
    const text = this.#text;
    let from = this.#at;
    while (isBlank(text.charAt(from))) from++;
    let end = from;
    for (; end < text.length; end++) {
      const char = text.charAt(end);
      if (isBlank(char)) break;
      if (isQuote(char)) return undefined;
    }
    this.#at = end;
    return text.slice(from, end);
  }

  peek(): string {
    const at = this.#at;
    const word = this.next();
    this.#at = at;
    return word;
  }

  /** The next `name=value`; the value may be quoted, the name may not. */
  pair(): [name: string, value: string] | undefined {
    startOfPair.lastIndex = this.#at;
    const [whole, name = '', sign = ''] = startOfPair.exec(this.#text) ?? [];
    if (whole === undefined || (name === '' && sign.trim() === '')) return undefined;
    if (name === '') throw new DagSyntax('a value has no name before its `=`');
    if (/["']/.test(name)) throw new DagSyntax(`the name \`${name}\` has a quotation mark`);
    this.#at += whole.length;
    if (sign.trim() === '') throw new DagSyntax(`\`${name}\` has no value: write ${name}="…"`);
    if (this.#text.charAt(this.#at) === '=') throw new DagSyntax(`\`${name}\` has two \`=\``);
    const value = this.next();
    if (value === '') throw new DagSyntax(`\`${name}\` has no value: write ${name}="…"`);
    return [name, isQuote(value.charAt(0)) ? value.slice(1, -1) : value];
  }

  /** Everything up to the end of the line. */
  rest(): string {
    const rest = this.#text.slice(this.#at).trim();
    this.#at = this.#text.length;
    return rest;
  }
}

const isWord = (word: string, keyword: string): boolean =>
  word.length === keyword.length && word.toUpperCase().replaceAll('-', '_') === keyword;

/** The next word, which must be there. */
function need(words: DagLexer, what: string, quotes: 'kept' | 'removed' = 'kept'): string {
  const word = words.next(quotes);
  if (word === '') throw new DagSyntax(`${what} is missing`);
  return word;
}

function end(words: DagLexer): void {
  const word = words.next();
  if (word !== '') throw new DagSyntax(`\`${word}\` is one word too many`);
}

const reserved = new Set(['PARENT', 'CHILD', 'ALL_NODES']);

function nodeOf(type: NodeType, words: DagLexer, lines: DagLines): DagCommand {
  const name = need(words, 'the name of the node');
  if (reserved.has(name.toUpperCase())) throw new DagSyntax(`\`${name}\` cannot be the name of a node`);
  if (name.includes('+')) throw new DagSyntax(`the name \`${name}\` has a +, which stands for splices`);
  const what = type === 'subdag' ? 'the DAG file' : 'the submit file';
  const submit = need(words, what, 'removed');
  const close = type === 'subdag' ? undefined : closingOf(submit);
  const described = close === undefined ? undefined : lines.description(close);
  const { place } = words;
  if (described === undefined)
    return { kind: 'node', type, name, submit, inline: undefined, ...nodeOptions(words), place };
  const options = nodeOptions(new DagLexer(described.after, place));
  return { kind: 'node', type, name, submit: '', inline: described.inline, ...options, place };
}

function nodeOptions(words: DagLexer): { dir: string | undefined; noop: boolean; done: boolean } {
  let dir: string | undefined;
  let [noop, done] = [false, false];
  for (let word = words.next(); word !== ''; word = words.next())
    if (isWord(word, 'NOOP')) noop = true;
    else if (isWord(word, 'DONE')) done = true;
    else if (isWord(word, 'DIR')) dir = need(words, 'the folder after DIR', 'removed');
    else throw new DagSyntax(`\`${word}\` is one word too many`);
  return { dir, noop, done };
}

function subdag(words: DagLexer, lines: DagLines): DagCommand {
  if (!isWord(words.next(), 'EXTERNAL')) throw new DagSyntax('EXTERNAL is missing after SUBDAG');
  return nodeOf('subdag', words, lines);
}

function splice(words: DagLexer): DagCommand {
  const name = need(words, 'the name of the splice');
  const file = need(words, 'the DAG file', 'removed');
  const word = words.next();
  if (word !== '' && !isWord(word, 'DIR')) throw new DagSyntax(`\`${word}\` is one word too many`);
  const dir = word === '' ? undefined : need(words, 'the folder after DIR', 'removed');
  end(words);
  return { kind: 'splice', name, file, dir, place: words.place };
}

function description(words: DagLexer, lines: DagLines): DagCommand {
  const name = need(words, 'the name of the submit description');
  const close = closingOf(words.next());
  if (close === undefined) throw new DagSyntax('the submit description in { } is missing');
  return { kind: 'description', name, inline: lines.description(close).inline, place: words.place };
}

function edges(words: DagLexer): DagCommand {
  const names: string[] = [];
  let childrenAt = -1;
  for (let word = words.next(); word !== ''; word = words.next())
    if (!isWord(word, 'CHILD')) names.push(word);
    else if (childrenAt === -1) childrenAt = names.length;
  if (names.length === 0 || childrenAt === 0) throw new DagSyntax('there is no node after PARENT');
  if (childrenAt === -1) throw new DagSyntax('CHILD is missing');
  if (childrenAt === names.length) throw new DagSyntax('there is no node after CHILD');
  const [parents, children] = [names.slice(0, childrenAt), names.slice(childrenAt)];
  return { kind: 'edges', parents, children, place: words.place };
}

function weakEdges(words: DagLexer): DagCommand {
  if (!isWord(words.next(), 'PARENT')) throw new DagSyntax('PARENT is missing after WEAK');
  return edges(words);
}

function script(words: DagLexer): DagCommand {
  for (;;) {
    const word = words.next().toUpperCase();
    if (word === 'PRE' || word === 'POST' || word === 'HOLD') return scriptOf(word, words);
    if (word === 'DEFER') {
      need(words, 'the status after DEFER');
      need(words, 'the time after DEFER');
    } else if (word === 'DEBUG') {
      need(words, 'the file after DEBUG');
      need(words, 'STDOUT, STDERR or ALL after DEBUG');
    } else throw new DagSyntax('PRE, POST or HOLD is missing');
  }
}

function scriptOf(when: ScriptTime, words: DagLexer): DagCommand {
  const node = need(words, 'the name of the node');
  const command = words.rest();
  if (command === '') throw new DagSyntax('the script is missing');
  return { kind: 'script', node, when, command, place: words.place };
}

function vars(words: DagLexer): DagCommand {
  const node = need(words, 'the name of the node');
  const word = words.peek();
  const append = isWord(word, 'APPEND');
  if (append || isWord(word, 'PREPEND')) words.next();
  const pairs: [string, string][] = [];
  for (let pair = words.pair(); pair !== undefined; pair = words.pair()) {
    const [name, value] = pair;
    if (/^(\+|my\.)$/i.test(name)) throw new DagSyntax('a variable has no name');
    if (/^queue/i.test(name)) throw new DagSyntax(`the name \`${name}\` begins with \`queue\``);
    pairs.push([name.replace(/^\+/, 'My.'), value]);
  }
  if (pairs.length === 0) throw new DagSyntax('there is no name="value"');
  // A copy has no room for more.
  return { kind: 'vars', node, append, pairs: pairs.slice(), place: words.place };
}

const oneFile =
  (kind: 'include' | 'config') =>
  (words: DagLexer): DagCommand => {
    const file = need(words, 'the file', 'removed');
    end(words);
    return { kind, file, place: words.place };
  };

interface Keyword {
  syntax: string;
  read: (words: DagLexer, lines: DagLines) => DagCommand;
}

const nodeKeyword = (keyword: string, type: NodeType): Keyword => ({
  syntax: `${keyword} NODE SUBMIT-FILE [DIR FOLDER] [NOOP] [DONE]`,
  read: (words, lines) => nodeOf(type, words, lines),
});

/** What words of a form stand for; the others stand for themselves, and those in [ ] may be left out. */
const places: Record<string, string> = {
  NODE: String.raw`(?<node>\S+)`,
  'ONE-NODE': String.raw`(?<node>(?!ALL[-_]NODES(?:\s|$))\S+)`,
  NAME: String.raw`\S+`,
  TIMES: String.raw`\+?\d+\S*`,
  NUMBER: String.raw`[-+]?\d\S*`,
  STATUS: String.raw`\+?0*(?:1?\d?\d|2[0-4]\d|25[0-5])(?!\d)\S*`,
  FILE: String.raw`(?:"[^"]*"|'[^']*'|\S+)`,
  REST: '.+',
};

function formOf(syntax: string): RegExp {
  const form = syntax
    .replace(/^\S+/, '')
    .replaceAll(/ (\[?)([A-Z|-]+)(\]?)/g, (_, open, word: string, close) => {
      const place = places[word] ?? `(?:${word.replaceAll('-', '[-_]')})`;
      return `${open === '' ? '' : '(?:'}\\s+${place}${close === '' ? '' : ')?'}`;
    });
  return new RegExp(`^${form}\\s*$`, 'i');
}

/** A command that is read by its form alone. */
function byForm(
  syntax: string,
  commandOf: (groups: Partial<Record<string, string>>, place: SourceLine) => DagCommand,
): [keyword: string, Keyword] {
  const [keyword = ''] = syntax.split(' ', 1);
  const form = formOf(syntax);
  const read = (words: DagLexer): DagCommand => {
    const found = form.exec(` ${words.rest()}`);
    if (found === null) throw new DagSyntax(`DAGMan refuses this form of ${keyword}`);
    return commandOf(found.groups ?? {}, words.place);
  };
  return [keyword.replaceAll('-', '_'), { syntax, read }];
}

const settings = [
  'RETRY NODE TIMES [UNLESS-EXIT NUMBER]',
  'ABORT-DAG-ON NODE NUMBER [RETURN STATUS]',
  'PRIORITY NODE NUMBER',
  'PRE_SKIP NODE STATUS',
  'TOLERANCE NODE TIMES [FAIL-FAST|WAIT]',
  'SAVE_POINT_FILE ONE-NODE [FILE]',
  'CATEGORY NODE NAME',
];
const others = [
  'MAXJOBS NAME TIMES',
  'JOBSTATE_LOG FILE',
  'NODE_STATUS_FILE FILE [NUMBER] [ALWAYS-UPDATE]',
  'DOT FILE [REST]',
  'PIN_IN ONE-NODE NUMBER',
  'PIN_OUT ONE-NODE NUMBER',
  'SET_JOB_ATTR REST',
  'ENV SET|GET REST',
];

/** Every command, by its keyword in upper case; `-` and `_` are the same. */
export const dagKeywords: Partial<Record<string, Keyword>> = {
  JOB: nodeKeyword('JOB', 'job'),
  FINAL: nodeKeyword('FINAL', 'final'),
  PROVISIONER: nodeKeyword('PROVISIONER', 'provisioner'),
  SERVICE: nodeKeyword('SERVICE', 'service'),
  SUBDAG: { syntax: 'SUBDAG EXTERNAL NODE DAG-FILE [DIR FOLDER] [NOOP] [DONE]', read: subdag },
  SPLICE: { syntax: 'SPLICE NAME DAG-FILE [DIR FOLDER]', read: splice },
  INCLUDE: { syntax: 'INCLUDE DAG-FILE', read: oneFile('include') },
  SUBMIT_DESCRIPTION: { syntax: 'SUBMIT-DESCRIPTION NAME {', read: description },
  PARENT: { syntax: 'PARENT A B … CHILD C D …', read: edges },
  WEAK: { syntax: 'WEAK PARENT A B … CHILD C D …', read: weakEdges },
  SCRIPT: { syntax: 'SCRIPT [DEFER STATUS TIME] PRE|POST|HOLD NODE SCRIPT ARGUMENTS', read: script },
  VARS: { syntax: 'VARS NODE [PREPEND|APPEND] name="value" …', read: vars },
  CONFIG: { syntax: 'CONFIG FILE', read: oneFile('config') },
  ...Object.fromEntries([
    ...settings.map((syntax) =>
      byForm(syntax, ({ node = '' }, place) => {
        const [keyword = ''] = syntax.split(' ', 1);
        return { kind: 'setting', node, keyword, place };
      }),
    ),
    ...others.map((syntax) => byForm(syntax, (_, place) => ({ kind: 'other', place }))),
    byForm('DONE ONE-NODE', ({ node = '' }, place) => ({ kind: 'done', node, place })),
    byForm('CONNECT NAME FILE', (_, place) => ({ kind: 'connect', place })),
    byForm('REJECT', (_, place) => ({ kind: 'reject', place })),
  ]),
};

/** A line that DAGMan refuses. */
export interface DagSyntaxError {
  message: string;
  fix: string;
  place: SourceLine;
}

/** The commands of one DAG file, and the lines that DAGMan refuses. */
export interface ParsedDag {
  commands: DagCommand[];
  errors: DagSyntaxError[];
}

/** Reads the text of a DAG file as DAGMan does, and goes on after a line that it refuses. Never throws. */
export function parseDag(text: string, file: string): ParsedDag {
  if (text.slice(0, 200).startsWith('\ufffd\ufffd') && text.includes('\0'))
    return noDag(file, 'it is in UTF-16: save it as UTF-8');
  if (text.includes('\0')) return noDag(file, 'it is a binary file');
  const lines = new DagLines(text, file);
  const parsed: ParsedDag = { commands: [], errors: [] };
  if (text.startsWith('\ufeff'))
    parsed.errors.push(
      asFound(
        'an invisible byte order mark begins the file: DAGMan refuses its first line',
        String.raw`save it as UTF-8 without BOM: sed -i '1s/^\xEF\xBB\xBF//' FILE`,
        { file, line: 1 },
      ),
    );
  let unknown = 0;
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    const { place } = line;
    const words = new DagLexer(line.text, place);
    const keyword = words.first();
    const entry = dagKeywords[keyword] ?? dagKeywords[keyword.toUpperCase().replaceAll('-', '_')];
    try {
      if (entry === undefined) {
        unknown += 1;
        throw new DagSyntax(`\`${keyword}\` is not a DAG command`);
      }
      parsed.commands.push(entry.read(words, lines));
    } catch (error) {
      if (!(error instanceof DagSyntax)) throw error;
      const fix = entry === undefined ? similar(keyword) : `write it as \`${entry.syntax}\``;
      parsed.errors.push(asFound(error.message, fix, place));
    }
  }
  if (unknown > parsed.commands.length + maxTypos)
    return noDag(file, `${unknown} of its lines are not DAG commands`);
  const { unfinished } = lines;
  if (unfinished !== undefined)
    parsed.errors.push(
      asFound('the file ends with a `\\`, and DAGMan ignores this command', 'delete the `\\`', unfinished),
    );
  return parsed;
}

/** A short DAG may have this many wrong lines and no right one. */
const maxTypos = 3;

/** Something else that was named by mistake: its lines are not worth a message each. */
const noDag = (file: string, why: string): ParsedDag => ({
  commands: [],
  errors: [
    asFound(`this is not a DAG: ${why}`, 'name the file that you pass to condor_submit_dag', {
      file,
      line: 1,
    }),
  ],
});

function similar(keyword: string): string {
  if (/^(node|data)$/i.test(keyword)) return 'write JOB';
  const close = nearest(keyword, Object.keys(dagKeywords));
  return close === undefined ? 'delete the line, or make it a comment with #' : `did you mean ${close}?`;
}
