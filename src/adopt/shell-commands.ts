/** One simple command of a shell script. */
export interface ShellCommand {
  words: string[];
  /** Where its line starts, counted from 1. */
  line: number;
  /** What follows it: its status passes on only where nothing but the end of the line does. */
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
