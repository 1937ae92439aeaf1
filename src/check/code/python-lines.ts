/** A line of Python without comments and triple-quoted strings. */
export interface PythonLine {
  text: string;
  /** Starts at 1. */
  line: number;
}

/** Longer lines are data, and slow to search. */
const longestLine = 2000;

type Quote = '' | '"' | "'" | '"""' | "'''";

/** The lines of a Python file without comments, triple-quoted strings and empty lines. */
export function pythonLines(source: string): PythonLine[] {
  const lines: PythonLine[] = [];
  let open: Quote = '';
  for (const [index, raw] of source.split(/\r?\n/).entries()) {
    const { text, quote } = codeOf(raw.slice(0, longestLine), open);
    // A plain string ends with its line; continued ones do not matter for imports.
    open = quote.length === 3 ? quote : '';
    if (text.trim() !== '') lines.push({ text: text.trimEnd(), line: index + 1 });
  }
  return lines;
}

function codeOf(raw: string, before: Quote): { text: string; quote: Quote } {
  let [text, quote] = ['', before];
  for (let at = 0; at < raw.length; at++) {
    const mark = raw[at] ?? '';
    if (quote === '') {
      if (mark === '#') break;
      const opened = /^("""|'''|"|')/.exec(raw.slice(at))?.[1] as Quote | undefined;
      quote = opened ?? '';
      text += opened ?? mark;
      at += (opened?.length ?? 1) - 1;
    } else if (mark === '\\') {
      at += 1;
    } else if (raw.startsWith(quote, at)) {
      text += quote;
      at += quote.length - 1;
      quote = '';
    } else if (quote.length === 1) {
      text += mark;
    }
  }
  return { text, quote };
}
