import { type ShellToken, shellTokens } from './shell-tokens.ts';

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

const work =
  /^(python[\d.]*|torchrun|accelerate|deepspeed|julia|Rscript|matlab|srun|mpirun|apptainer|singularity|java|perl|\.\/.*|\/.*|bash|sh|node|snakemake|gmx|exec)$/;
const cleanUp =
  /^(rm|rmdir|echo|printf|ls|date|mv|cp|mkdir|cd|popd|pushd|deactivate|conda|sleep|touch|du|df|cat|unset|export|tar|zip|gzip|true|:|kill|wait|chmod|hostname|find|module|source|\.)$/;

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
