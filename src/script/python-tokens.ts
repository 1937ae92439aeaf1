import path from 'node:path';
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

const piece = new RegExp(
  [
    String.raw`([ \t\f\uFEFF]+|\\\r?\n)`, // blank
    String.raw`(\r?\n|\r)`, // line end
    String.raw`(#[^\r\n]*)`, // comment
    String.raw`([A-Za-z]{0,2})("""|'''|"|')`, // start of a string, with its prefix
    String.raw`([\p{L}_][\p{L}\p{N}_]*)`, // name
    String.raw`(\.?\d(?:[eE][-+]\d|[\w.])*)`, // number
    String.raw`(->|\*\*=?|\/\/=?|[-+*/%@&|^<>=!:]=|[^])`, // operator, or any other character
  ].join('|'),
  'uy',
);

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

export interface PythonImport {
  /** As written; a relative one starts with a dot. */
  module: string;
  /** Names after `from module import`, which may be modules of a package. */
  names: string[];
  line: number;
  /** `always`: at the top of the file; `perhaps`: in a function or branch; `guarded`: the file can do without. */
  when: 'always' | 'perhaps' | 'guarded';
}

const importLine = /^(\s*)import\s+(.+)$/;
const fromLine = /^(\s*)from\s+(\.*[\w.]*)\s+import\s+(.+)$/;
/** Blocks whose imports may fail or never run. */
const guard = /^\s*(try\s*:|except\b|(if|elif)\s+(typing\.)?TYPE_CHECKING\b)/;
const definition = /^\s*(async\s+def|def|class)\b/;
const block = /^\s*(if|elif|else|for|while|with|try|except|finally|match|case)\b.*:\s*$/;

/** What a file imports, by its lines. */
export function pythonImports(lines: readonly PythonLine[]): PythonImport[] {
  const open: { indent: number; guards: boolean; isMain: boolean }[] = [];
  return lines.flatMap(({ text, line }) => {
    const indent = text.length - text.trimStart().length;
    // The last line of a header in several lines begins with its bracket.
    if (!/^\s*[)\]}]/.test(text)) while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
    const when = open.some(({ guards }) => guards)
      ? 'guarded'
      : open.every(({ isMain }) => isMain)
        ? 'always'
        : 'perhaps';
    const found = importsOf(text).map((one) => ({ ...one, line, when }) as const);
    if (definition.test(text) || block.test(text))
      open.push({ indent, guards: guard.test(text), isMain: /__name__\s*==/.test(text) });
    return found;
  });
}

function importsOf(text: string): Pick<PythonImport, 'module' | 'names'>[] {
  const from = fromLine.exec(text);
  if (from !== null) return [{ module: from[2] ?? '', names: namesOf(from[3] ?? '') }];
  const plain = importLine.exec(text)?.[2] ?? '';
  return namesOf(plain).map((module) => ({ module, names: [] }));
}

/** `a as b, c` and the like; further lines of a bracket are not needed. */
const namesOf = (text: string): string[] =>
  text
    .replace(/[();\\].*$/, (rest) => (rest.startsWith('(') ? rest.slice(1).replace(/[)\\;].*$/, '') : ''))
    .split(',')
    .map((part) => part.trim().split(/\s+/)[0] ?? '')
    .filter((name) => /^[A-Za-z_][\w.]*$/.test(name));

/** The files sent with the job that an import refers to: the module, and submodules it may name. */
export function localModules<T extends { file: string }>(
  { module, names }: Pick<PythonImport, 'module' | 'names'>,
  importer: string,
  sent: readonly T[],
): T[] {
  const dots = /^\.*/.exec(module)?.[0].length ?? 0;
  const parts = module.slice(dots).split('.').filter(Boolean);
  const base = dots === 0 ? undefined : path.posix.join(path.posix.dirname(importer), '../'.repeat(dots - 1));
  const wanted = [parts, ...names.map((name) => [...parts, name])]
    .filter((one) => one.length > 0)
    .flatMap((one) => [`${one.join('/')}.py`, `${one.join('/')}/__init__.py`]);
  return sent.filter(({ file }) =>
    wanted.some((name) =>
      base === undefined ? file === name || file.endsWith(`/${name}`) : file === path.posix.join(base, name),
    ),
  );
}

/** Whether an import refers to a file that is sent, including packages without `__init__.py`, or to `updraft`. */
export function isLocalModule(
  found: Pick<PythonImport, 'module'>,
  importer: string,
  sent: readonly string[],
): boolean {
  if (found.module.startsWith('.')) return true;
  const first = found.module.split('.')[0] ?? '';
  // The agent places it beside every training.
  return (
    first === 'updraft' ||
    sent.some((file) => new RegExp(`(^|/)${first}(\\.py$|/.*\\.py$)`).test(file) && file !== importer)
  );
}
