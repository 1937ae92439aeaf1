import { anyOf } from '@updraft/base';

/** One simple command of a shell script. */
export interface ShellCommand {
  words: string[];
  /** Where its line starts, counted from 1. */
  line: number;
  /** What follows it: its status survives only at the end of the line. */
  before: '' | ';' | '&&' | '||' | '|' | '&';
  /** Inside a function, a loop or a branch. */
  nested: boolean;
}

/** Words before a command that are not part of it. */
const leading = /^(then|do|else|elif|if|while|until|!|time|\{|[A-Za-z_]\w*(\[[^\]]*\])?\+?=.*)$/s;
const opening = /^(if|for|while|until|select|case|\{)$/;
const closing = /^(fi|done|esac|\})$/;
/** They start a list of words, not a command. */
const header = /^(for|select|case|function)$/;

/** The simple commands of a shell script in their order, without those inside `$(…)`. */
export const shellCommands = (script: string): ShellCommand[] => new CommandReader().read(script);

class CommandReader {
  readonly #commands: ShellCommand[] = [];
  #words: ShellToken[] = [];
  /** How many functions, loops, branches and subshells are open, and were when the command started. */
  #depth = 0;
  #startDepth: number | undefined;
  /** What comes next of each open `case`. */
  readonly #cases: ('subject' | 'pattern' | 'body')[] = [];
  #isFunction = false;
  /** `exec` has replaced the shell: what follows is for another program. */
  #isReplaced = false;

  read(script: string): ShellCommand[] {
    for (const token of shellTokens(script)) {
      if (this.#isReplaced) break;
      if (this.#cases.at(-1) === 'pattern') this.#pattern(token.text);
      else if (token.kind === 'operator') this.#operator(token.text);
      else this.#word(token);
    }
    this.#finish('');
    return this.#commands;
  }

  #pattern(text: string): void {
    if (text === 'esac') this.#close(text);
    else if (text === ')') this.#cases[this.#cases.length - 1] = 'body';
  }

  #operator(text: string): void {
    // The subject of a `case` may end its line.
    if (text === '\n' && this.#words[0]?.text === 'case') return;
    if (text === '(') this.#parenthesis();
    else if (text === ')' && this.#isFunction) this.#isFunction = false;
    else {
      this.#finish(text === '\n' || text === ')' ? '' : following(text));
      if (text === ')') this.#depth = Math.max(0, this.#depth - 1);
      if (/^;[;&]/.test(text) && this.#cases.at(-1) === 'body')
        this.#cases[this.#cases.length - 1] = 'pattern';
    }
  }

  /** `name (` defines a function; otherwise a subshell starts. */
  #parenthesis(): void {
    this.#isFunction = this.#words.length > 0;
    this.#words = [];
    this.#startDepth = undefined;
    if (!this.#isFunction) this.#depth++;
  }

  #word(token: ShellToken): void {
    const { text } = token;
    if (this.#words.length > 0) this.#words.push(token);
    else if (closing.test(text)) this.#close(text);
    else {
      this.#startDepth ??= this.#depth;
      if (opening.test(text)) this.#depth++;
      if (text === '{') this.#startDepth = undefined;
      if (text === 'case') this.#cases.push('subject');
      if (!leading.test(text)) this.#words = [token];
    }
    const first = this.#words[0]?.text;
    if (first === 'function' && text === '{') {
      this.#words = [];
      this.#depth++;
    } else if (first === 'case' && text === 'in') {
      this.#words = [];
      this.#cases[this.#cases.length - 1] = 'pattern';
    }
  }

  #close(text: string): void {
    this.#depth = Math.max(0, this.#depth - 1);
    if (text === 'esac') this.#cases.pop();
  }

  #finish(before: ShellCommand['before']): void {
    const words = this.#words.map(({ text }) => text);
    const line = this.#words[0]?.line ?? 0;
    const nested = (this.#startDepth ?? this.#depth) > 0;
    [this.#words, this.#startDepth] = [[], undefined];
    this.#isReplaced ||= !nested && before === '' && words[0] === 'exec' && /^[^<>&\d]/.test(words[1] ?? '');
    if (words.length > 0 && !header.test(words[0] ?? ''))
      this.#commands.push({ words, line, before, nested });
  }
}

/** The operator after a command, without what only a `case` or a shell's variant adds to it. */
const following = (operator: string): ShellCommand['before'] =>
  (operator === '&&' || operator === '||' ? operator : operator[0]) as ShellCommand['before'];

/** A job's shell script, as the rules about wrappers see it. */
export interface Wrapper {
  file: string;
  lines: string[];
  commands: ShellCommand[];
  windowsLines: boolean;
  /** It stops at the first command that fails. */
  stopsOnError: boolean;
  /** A pipe fails when any of its commands does. */
  pipeFails: boolean;
}

/** Reads a shell script; undefined when the text is not one. Of another with Windows line ends, only that is known. */
export function readWrapper(file: string, text: string): Wrapper | undefined {
  const first = text.split('\n', 1)[0] ?? '';
  const windowsLines = first.endsWith('\r');
  const isOther = !isShell(file, first);
  if (isOther && !(windowsLines && first.startsWith('#!'))) return undefined;
  const commands = isOther ? [] : shellCommands(text);
  const sets = commands
    .filter(({ words }) => words[0] === 'set')
    .map(({ words }) => words.slice(1).join(' '));
  return {
    file,
    lines: (isOther ? first : text).split(/\r?\n/),
    commands,
    windowsLines,
    stopsOnError:
      sets.some((flags) => /(^|\s)-[a-z]*e/.test(flags) || /errexit/.test(flags)) ||
      /^#!.*\s-[a-z]*e/.test(first),
    pipeFails: sets.some((flags) => /pipefail/.test(flags)),
  };
}

function isShell(file: string, first: string): boolean {
  if (first.startsWith('#!')) return /\b(ba|da|k|z|a)?sh\b/.test(first);
  return /\.(sh|bash)$/.test(file);
}

const work = new RegExp(
  `^(?:${anyOf(String.raw`
    python[\d.]* torchrun accelerate deepspeed julia Rscript matlab srun mpirun apptainer singularity
    java perl \.\/.* \/.* bash sh node snakemake gmx exec
  `)})$`,
);
const cleanUp = new RegExp(
  `^(?:${anyOf(String.raw`
    rm rmdir echo printf ls date mv cp mkdir cd popd pushd deactivate conda sleep touch du df cat unset
    export tar zip gzip true : kill wait chmod hostname find module source \.
  `)})$`,
);

/** Programs that only show where a job runs, by their paths. */
const showing =
  /^\/(usr\/)?s?bin\/(pwd|date|hostname|whoami|id|uname|env|echo|ls|df|du|cat|nproc|lscpu|sleep)$/;

/** The command that does the job: the last top-level one that is not clean-up. */
export function mainCommand({ commands }: Wrapper): ShellCommand | undefined {
  const top = commands.filter(({ nested }) => !nested);
  return top.findLast(({ words: [first = ''] }) => work.test(first) && !showing.test(first)) ?? undefined;
}

export const isCleanUp = ({ words }: ShellCommand): boolean => cleanUp.test(words[0] ?? '');

/** What a command would fetch from the network while the job runs. */
export type Download = 'packages' | 'environment' | 'system packages' | 'files' | 'code' | 'model';

const fetchers: [RegExp, Download][] = [
  [/^(python[\d.]* -m )?pip3? install\b/, 'packages'],
  [/^(conda|mamba|micromamba) (install|create|env create)\b/, 'packages'],
  [/^pixi install\b/, 'environment'],
  [/^(apt|apt-get|yum|dnf) install\b/, 'system packages'],
  [/^(wget|curl|aria2c)\b/, 'files'],
  [/^git clone\b/, 'code'],
  [/^(huggingface-cli|hf) download\b/, 'model'],
];

/** What a simple command of the shell downloads; undefined when it downloads nothing. */
export function runTimeDownload(words: readonly string[]): Download | undefined {
  const text = words.join(' ');
  if (/--no-index|file:\/\//.test(text)) return undefined;
  return fetchers.find(([pattern]) => pattern.test(text))?.[1];
}

/** The start of a command, for messages: what follows a `?` may be a secret. */
export const shownCommand = (words: readonly string[]): string =>
  words.slice(0, 3).join(' ').replace(/\?.*/, '?…');

/** A word or an operator of a shell script. A parenthesis that groups commands is an operator. */
interface ShellToken {
  kind: 'word' | 'operator';
  text: string;
  /** Counted from 1. */
  line: number;
}

const operators = [';;&', '&&', '||', ';;', ';&', '|&', ';', '|', '&', '(', ')', '\n'];
const brackets: Record<string, string> = { '(': ')', '{': '}', '`': '`' };

/**
 * The words and operators of a shell script, in one pass: continued lines are joined, comments and here-documents left
 * out; quotes, substitutions, arrays and arithmetic belong to their word.
 */
const shellTokens = (script: string): ShellToken[] => new Scanner(script.replaceAll('\r\n', '\n')).scan();

class Scanner {
  readonly #text: string;
  readonly #tokens: ShellToken[] = [];
  /** Here-documents that start after this line. */
  readonly #documents: string[] = [];
  #at = 0;
  #line = 1;
  #word: ShellToken | undefined;
  /** Inside `[[ … ]]`, where `&&` and `<` are not operators of the shell. */
  #isTest = false;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): ShellToken[] {
    while (this.#at < this.#text.length) this.#step();
    this.#endWord();
    return this.#tokens;
  }

  #step(): void {
    const mark = this.#text[this.#at] ?? '';
    if (this.#text.startsWith('\\\n', this.#at)) this.#advance(2);
    else if (mark === '\\' || mark === '"' || mark === "'" || mark === '`') this.#take(this.#endOf(this.#at));
    else if (mark === ' ' || mark === '\t') {
      this.#endWord();
      this.#advance(1);
    } else if (mark === '#' && this.#word === undefined) this.#advance(this.#toLineEnd() - this.#at);
    else if (/^[$<>]\(|^\$\{/.test(this.#text.slice(this.#at, this.#at + 2)))
      this.#take(this.#endOf(this.#at + 1));
    else if (mark === '<' && this.#text.startsWith('<<', this.#at)) this.#redirect();
    else if (mark === '(' && this.#opensWord()) this.#take(this.#endOf(this.#at));
    else this.#operatorOrLetter();
  }

  #operatorOrLetter(): void {
    const found = operators.find((one) => this.#text.startsWith(one, this.#at));
    const isLineEnd = found === '\n';
    // `2>&1`, `&>file`, and everything in a test.
    const isPlain =
      (found === '&' && (this.#text[this.#at + 1] === '>' || /[<>]$/.test(this.#word?.text ?? ''))) ||
      (this.#isTest && !isLineEnd);
    if (found === undefined || isPlain) {
      this.#take(this.#at + (found?.length ?? 1));
      return;
    }
    this.#endWord();
    if (this.#isTest && /^(&&|\|\|)$/.test(this.#tokens.at(-1)?.text ?? '')) {
      this.#advance(1);
      return;
    }
    this.#isTest = false;
    this.#tokens.push({ kind: 'operator', text: found, line: this.#line });
    this.#advance(found.length);
    if (isLineEnd) this.#skipDocuments();
  }

  /** `x=(…)` is an array, and `((…))` arithmetic; other parentheses group commands. */
  #opensWord(): boolean {
    return /[A-Za-z_\d\]]\+?=$/.test(this.#word?.text ?? '') || this.#text.startsWith('((', this.#at);
  }

  #redirect(): void {
    if (this.#text.startsWith('<<<', this.#at)) {
      this.#take(this.#at + 3);
      return;
    }
    const [all = '<<', , name] =
      /^<<-?[ \t]*(['"\\]?)([A-Za-z_]\w*)\1?/.exec(this.#text.slice(this.#at, this.#at + 200)) ?? [];
    if (name !== undefined) this.#documents.push(name);
    this.#take(this.#at + all.length);
  }

  /** Skips the here-documents that were announced on the line before. */
  #skipDocuments(): void {
    for (const name of this.#documents.splice(0))
      for (let isEnd = false; !isEnd && this.#at < this.#text.length;) {
        const end = this.#toLineEnd();
        isEnd = this.#text.slice(this.#at, end).trim() === name;
        this.#advance(end - this.#at + 1);
      }
  }

  /** Adds the text up to `end` to the word. */
  #take(end: number): void {
    this.#word ??= { kind: 'word', text: '', line: this.#line };
    this.#word.text += this.#text.slice(this.#at, end);
    this.#advance(end - this.#at);
  }

  #endWord(): void {
    const word = this.#word;
    this.#word = undefined;
    if (word === undefined) return;
    if (word.text === '[[') this.#isTest = true;
    if (word.text === ']]') this.#isTest = false;
    this.#tokens.push({ ...word, text: word.text.replace(/^(["'])(.*)\1$/s, '$2') });
  }

  #advance(count: number): void {
    const end = Math.min(this.#at + count, this.#text.length);
    for (; this.#at < end; this.#at++) if (this.#text[this.#at] === '\n') this.#line++;
  }

  #toLineEnd(): number {
    const end = this.#text.indexOf('\n', this.#at);
    return end < 0 ? this.#text.length : end;
  }

  #endOf(at: number): number {
    return endOfQuoted(this.#text, at);
  }
}

/** Where what starts at `at` ends: a quoted string, brackets with all they contain, or an escaped character. */
function endOfQuoted(text: string, at: number): number {
  const open = text[at] ?? '';
  if (open === '\\') return at + 2;
  if (open === "'") return afterNext(text, "'", at + 1);
  const closers = [brackets[open] ?? '"'];
  for (let next = at + 1; next < text.length; next++) {
    const mark = text[next] ?? '';
    const closer = closers.at(-1);
    if (mark === '\\') next++;
    else if (mark === closer) {
      closers.pop();
      if (closers.length === 0) return next + 1;
    } else if (mark === "'" && closer !== '"') next = afterNext(text, "'", next + 1) - 1;
    else if (mark === '"' || mark === '`' || (mark === '(' && closer !== '"'))
      closers.push(brackets[mark] ?? '"');
    else if (mark === '$' && (text[next + 1] === '(' || text[next + 1] === '{'))
      closers.push(brackets[text[++next] ?? ''] ?? '');
  }
  return text.length;
}

function afterNext(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from);
  return found < 0 ? text.length : found + 1;
}
