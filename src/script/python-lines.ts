import { pythonTokens, type Token } from './python-tokens.ts';

/** A line of Python without comments and triple-quoted strings. */
export interface PythonLine {
  text: string;
  /** Starts at 1. */
  line: number;
}

/** Longer lines are data, and slow to search. */
const longestLine = 2000;

/** The lines of a Python file without comments, triple-quoted strings and empty lines. */
export function pythonLines(source: string, tokens: readonly Token[] = pythonTokens(source)): PythonLine[] {
  let [kept, at] = ['', 0];
  for (const { kind, text, quote = '', start, end } of tokens) {
    if (kind !== 'comment' && quote.length !== 3) continue;
    const lines = kind === 'comment' ? '' : quote + '\n'.repeat(text.split('\n').length - 1) + quote;
    kept += source.slice(at, start) + lines;
    at = end;
  }
  return (kept + source.slice(at))
    .split(/\r?\n/)
    .map((text, index) => ({ text: text.slice(0, longestLine).trimEnd(), line: index + 1 }))
    .filter(({ text }) => text !== '');
}
