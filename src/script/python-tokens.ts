/** A piece of Python source; white space is left out. */
export interface Token {
  kind: 'name' | 'number' | 'string' | 'op' | 'newline' | 'comment';
  /** Of a string: what is between its quotes, escapes as written. */
  text: string;
  /** Of a string: its letters, in lower case, like `f` or `rb`. */
  prefix?: string;
  quote?: string;
  /** Starts at 1. */
  line: number;
  /** In its line, starting at 0. */
  column: number;
  start: number;
  end: number;
}

const piece =
  /([ \t\f\uFEFF]+|\\\r?\n)|(\r?\n|\r)|(#[^\r\n]*)|([A-Za-z]{0,2})("""|'''|"|')|([\p{L}_][\p{L}\p{N}_]*)|(\.?\d(?:[eE][-+]\d|[\w.])*)|(->|\*\*=?|\/\/=?|[-+*/%@&|^<>=!:]=|[^])/uy;

/** Statements that never stand inside a bracket: one that was not closed ends there. */
const statement = /^(def|class|import|with|while|try|return|raise)$/;

/**
 * The tokens of a Python file. A newline token ends a logical line: there is none inside brackets or after a backslash.
 * Any text is accepted, in linear time: a plain string ends with its line, a bracket at the next statement.
 */
export function pythonTokens(source: string): Token[] {
  const tokens: Token[] = [];
  let [line, lineStart, depth, isFresh] = [1, 0, 0, true];
  for (let at = 0; at < source.length;) {
    piece.lastIndex = at;
    const found = piece.exec(source) ?? [source[at] ?? ''];
    const [all, space, newline, comment, letters = '', quote, name, number] = found;
    const start = at;
    at += all.length;
    const add = (kind: Token['kind'], text: string, more: Partial<Token> = {}): void => {
      tokens.push({ kind, text, line, column: start - lineStart, start, end: at, ...more });
    };
    if (space !== undefined) {
      if (space.includes('\n')) [line, lineStart] = [line + 1, at];
      continue;
    }
    if (newline !== undefined) {
      if (depth === 0) add('newline', '');
      [line, lineStart, isFresh] = [line + 1, at, true];
      continue;
    }
    if (comment !== undefined) add('comment', comment);
    else if (quote !== undefined && /^([rbuft]|[rbft]{2})?$/i.test(letters)) {
      const end = stringEnd(source, at, quote);
      const isClosed = source.startsWith(quote, end);
      const text = source.slice(at, end);
      at = isClosed ? end + quote.length : end;
      add('string', text, { prefix: letters.toLowerCase(), quote });
      if (text.includes('\n')) {
        line += text.split('\n').length - 1;
        lineStart = start + letters.length + quote.length + text.lastIndexOf('\n') + 1;
      }
    } else if (quote !== undefined) {
      // Letters that are no prefix are a name of their own; the string comes next.
      at = start + letters.length;
      add('name', letters);
    } else if (name !== undefined) {
      if (isFresh && depth > 0 && statement.test(name)) {
        depth = 0;
        tokens.push({ kind: 'newline', text: '', line, column: start - lineStart, start, end: start });
      }
      add('name', name);
    } else if (number !== undefined) add('number', number);
    else {
      depth = Math.max(0, depth + ('([{'.includes(all) ? 1 : ')]}'.includes(all) ? -1 : 0));
      add('op', all);
    }
    isFresh = false;
  }
  return tokens;
}

function stringEnd(source: string, from: number, quote: string): number {
  for (let at = from; at < source.length; at++) {
    if (source[at] === '\\') at += source.startsWith('\r\n', at + 1) ? 2 : 1;
    else if (source.startsWith(quote, at)) return at;
    else if (quote.length === 1 && (source[at] === '\n' || source[at] === '\r')) return at;
  }
  return source.length;
}
