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

const openers = /^(if|for|while|until|case|select|\{|\()$|\)\s*\{$/;
const closers = /^(fi|done|esac|\}|\))$/;
/** Words before the command itself. */
const leading = /^(then|do|else|elif|if|while|until|!|time|\{|\(|[A-Za-z_]\w*=.*)$/s;

/**
 * The simple commands of a shell script in their order, as far as a lint needs them: continued lines are joined,
 * comments and here-documents are left out, quotes hide separators.
 */
export function shellCommands(script: string): ShellCommand[] {
  const commands: ShellCommand[] = [];
  let depth = 0;
  for (const { text, line } of codeLines(script))
    for (const { part, before } of splitCommands(text)) {
      const words = splitWords(part);
      const opened = words.filter((word) => openers.test(word)).length + (/\(\)\s*\{?$/.test(part) ? 1 : 0);
      const closed = words.filter((word) => closers.test(word)).length;
      while (words[0] !== undefined && leading.test(words[0]) && words.length > 1) words.shift();
      const keep =
        words.length > 0 &&
        !/^(then|do|else|fi|done|esac|\}|\{|;;|\)|[A-Za-z_]\w*=.*)$/s.test(words[0] ?? '');
      if (keep) commands.push({ words, line, before, nested: depth > 0 });
      depth = Math.max(0, depth + opened - closed);
    }
  return commands;
}

function codeLines(script: string): { text: string; line: number }[] {
  const physical = script.split(/\r?\n/);
  const lines: { text: string; line: number }[] = [];
  for (let at = 0; at < physical.length; at++) {
    const line = at + 1;
    let text = stripComment(physical[at] ?? '');
    while (/(^|[^\\])(\\\\)*\\$/.test(text) && at + 1 < physical.length)
      text = text.slice(0, -1) + stripComment(physical[++at] ?? '');
    const heredoc = /<<-?\s*(['"]?)([A-Za-z_]\w*)\1/.exec(text)?.[2];
    if (text.trim() !== '') lines.push({ text: text.trim(), line });
    if (heredoc !== undefined) {
      while (at + 1 < physical.length && physical[at + 1]?.trim() !== heredoc) at++;
      at++;
    }
  }
  return lines;
}

/** A `#` starts a comment at the start of a word, outside quotes. */
function stripComment(text: string): string {
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const mark = text[at] ?? '';
    if (mark === '\\' && quote !== "'") at++;
    else if (quote !== '') quote = mark === quote ? '' : quote;
    else if (mark === '"' || mark === "'") quote = mark;
    else if (mark === '#' && (at === 0 || /[\s;(]/.test(text[at - 1] ?? '')))
      return text.slice(0, at).trimEnd();
  }
  return text;
}

const separators = /^(&&|\|\||;;|;|\||&(?!>))/;

function splitCommands(text: string): { part: string; before: ShellCommand['before'] }[] {
  const parts: { part: string; before: ShellCommand['before'] }[] = [];
  let [start, quote] = [0, ''];
  for (let at = 0; at < text.length; at++) {
    const mark = text[at] ?? '';
    const found = quote === '' && text[at - 1] !== '>' ? separators.exec(text.slice(at)) : null;
    if (mark === '\\' && quote !== "'") at++;
    else if (quote !== '') quote = mark === quote ? '' : quote;
    else if (mark === '"' || mark === "'") quote = mark;
    else if (found !== null) {
      const word = found[0] === ';;' ? ';' : (found[0] as ShellCommand['before']);
      parts.push({ part: text.slice(start, at).trim(), before: word });
      at += found[0].length - 1;
      start = at + 1;
    }
  }
  parts.push({ part: text.slice(start).trim(), before: '' });
  return parts.filter(({ part }) => part !== '');
}

const splitWords = (text: string): string[] =>
  [...text.matchAll(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/gs)].map(([word]) =>
    word.replaceAll(/^(["'])(.*)\1$/gs, '$2'),
  );

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

/** Reads a shell script; undefined when the text is not one. */
export function readWrapper(file: string, text: string): Wrapper | undefined {
  const first = text.split('\n', 1)[0] ?? '';
  if (!isShell(file, first)) return undefined;
  const commands = shellCommands(text);
  const sets = commands
    .filter(({ words }) => words[0] === 'set')
    .map(({ words }) => words.slice(1).join(' '));
  return {
    file,
    lines: text.split(/\r?\n/),
    commands,
    windowsLines: first.endsWith('\r'),
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

/** The command that does the job: the last top-level one that is not clean-up. */
export function mainCommand({ commands }: Wrapper): ShellCommand | undefined {
  const top = commands.filter(({ nested }) => !nested);
  return top.findLast(({ words }) => work.test(words[0] ?? '')) ?? undefined;
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
