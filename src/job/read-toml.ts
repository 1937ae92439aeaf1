import { getStaticTOMLValue, ParseError, parseTOML, type AST } from 'toml-eslint-parser';
import {
  placeKey,
  withWritten,
  type KeyPath,
  type TextPosition,
  type SourceFile,
  type SpecProblem,
} from './source-file.ts';

/** Reads TOML into values and their places; syntax errors become located problems. */
export function readToml(text: string, file: string): SourceFile {
  const problems: SpecProblem[] = [];
  const tree = parse(text, file, problems);
  const places: SourceFile['places'] = new Map();
  if (tree === undefined) return { file, value: undefined, places, problems };
  for (const node of tree.body[0].body) recordPlaces(node, [], places);
  const proto = [...places].find(([path]) => path.includes('"__proto__"'));
  if (proto !== undefined) {
    problems.push({ file, ...proto[1].key, key: '__proto__', message: 'this name cannot be used as a key' });
    return { file, value: undefined, places, problems };
  }
  return withWritten({ file, value: getStaticTOMLValue(tree), places, problems });
}

/**
 * The parser stops at its first error. A key that is defined twice does not affect the rest of the file, so its line
 * is dropped and parsing repeated: the user sees every problem at once.
 */
function parse(text: string, file: string, problems: SpecProblem[]): AST.TOMLProgram | undefined {
  const lines = text.split('\n');
  for (;;)
    try {
      return parseTOML(lines.join('\n'), { filePath: file });
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      const line = lines[error.lineNumber - 1] ?? '';
      const repeated = error.message.startsWith('Defining a key multiple times');
      if (!repeated && problems.length > 0) return undefined;
      problems.push(syntaxProblem(error, lines, file, repeated));
      if (!repeated || /^\s*\[/.test(line)) return undefined;
      lines[error.lineNumber - 1] = '';
    }
}

function syntaxProblem(error: ParseError, lines: string[], file: string, repeated: boolean): SpecProblem {
  const open = repeated ? undefined : unclosed(lines);
  if (open !== undefined && open.line <= error.lineNumber) return unclosedProblem(open, lines, file);
  let [row, column] = [error.lineNumber, error.column];
  // The parser reports what is missing at the end of a line at the start of the next.
  while (column === 0 && row > 1 && !repeated) [row, column] = [row - 1, (lines[row - 2] ?? '').length];
  const place = { file, line: row, column: column + 1 };
  const line = lines[row - 1] ?? '';
  const key = keyOn(lines, row, repeated ? line.slice(column) : line);
  if (repeated) return { ...place, key, message: 'is defined twice; remove one of them' };
  const bare = /=\s*[A-Za-z_./~]/.test(line) && !/=\s*(true|false|inf|nan)\b/.test(line);
  const isRange = /=\s*range\(/.test(line);
  const hint = isRange
    ? '; write a list, like [0, 1, 2]'
    : bare
      ? '; put strings in quotes, like key = "text"'
      : '';
  return {
    ...place,
    key,
    message: `this is not valid TOML (${plainMessages[error.message] ?? lowerFirst(error.message)})${hint}`,
  };
}

function keyOn(lines: string[], row: number, line = lines[row - 1] ?? ''): string {
  const name = /^\s*["']?([\w.-]+)["']?\s*(=|\])/.exec(line)?.[1];
  return [tableAbove(lines, row), name].filter((part) => part !== undefined).join('.');
}

function unclosedProblem({ mark, ...place }: Bracket, lines: string[], file: string): SpecProblem {
  const [close, what] = mark === '[' ? [']', 'list'] : ['}', 'table'];
  const message = `the "${mark}" that opens here has no closing "${close}"; add it at the end of the ${what}`;
  return { file, ...place, key: keyOn(lines, place.line), message };
}

interface Bracket extends TextPosition {
  mark: '[' | '{';
}

/** A line that only starts a new key or table, so no bracket can still be open before it. */
const startsStatement = /^\s*([\w"'.-]+\s*=|\[\[?[A-Za-z_][\w.-]*\]\]?\s*(#|$))/;

/** The first bracket of a value that is still open where the next key or table starts, or at the end. */
function unclosed(lines: readonly string[]): Bracket | undefined {
  const open: Bracket[] = [];
  let long = '';
  for (const [index, text] of lines.entries()) {
    if (long === '' && open[0] !== undefined && open.at(-1)?.mark === '[' && startsStatement.test(text))
      return open[0];
    const value = open.length > 0 || long !== '' ? 0 : text.indexOf('=') + 1;
    if (value === 0 && open.length === 0 && long === '') continue;
    for (const found of text.matchAll(/"""|'''|"(?:[^"\\]|\\.)*"|'[^']*'|#.*|[[\]{}]/g)) {
      const [mark] = found;
      if (found.index < value) continue;
      if (mark === '"""' || mark === "'''") long = long === '' ? mark : long === mark ? '' : long;
      else if (long !== '' || mark.length > 1 || mark === '#') continue;
      else if (mark === '[' || mark === '{') open.push({ mark, line: index + 1, column: found.index + 1 });
      else open.pop();
    }
    if (open.at(-1)?.mark === '{') return open.at(-1);
  }
  return open[0];
}

/** The `[table]` that a line's key belongs to. */
function tableAbove(lines: string[], row: number): string | undefined {
  const headers = lines.slice(0, row).map((line) => /^\s*\[\s*([^\]]+?)\s*\]/.exec(line)?.[1]);
  return headers[row - 1] === undefined ? headers.findLast((header) => header !== undefined) : undefined;
}

/** Plainer messages for those of the parser that would not help a user. */
const plainMessages: Record<string, string> = {
  'Unspecified values are invalid': 'a value is missing here',
  'Unterminated string constant': 'the closing quote is missing',
  'Unterminated array': 'the closing "]" is missing',
};

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

function recordPlaces(
  node: AST.TOMLKeyValue | AST.TOMLTable,
  above: KeyPath,
  places: SourceFile['places'],
): void {
  const path: PropertyKey[] = [...above];
  for (const part of node.key.keys) {
    path.push(part.type === 'TOMLBare' ? part.name : part.value);
    const key = start(part);
    if (!places.has(placeKey(path))) places.set(placeKey(path), { key, value: key });
  }
  if (node.type === 'TOMLTable' && node.kind === 'array')
    places.set(placeKey(node.resolvedKey), { key: start(node), value: start(node) });
  if (node.type === 'TOMLTable') for (const inner of node.body) recordPlaces(inner, node.resolvedKey, places);
  else recordValue(node.value, path, places);
}

function recordValue(node: AST.TOMLContentNode, path: KeyPath, places: SourceFile['places']): void {
  const value = start(node);
  const text = 'number' in node ? node.number : undefined;
  places.set(placeKey(path), { key: places.get(placeKey(path))?.key ?? value, value, text });
  if (node.type === 'TOMLInlineTable') for (const inner of node.body) recordPlaces(inner, path, places);
  if (node.type !== 'TOMLArray') return;
  for (const [index, element] of node.elements.entries()) recordValue(element, [...path, index], places);
}

const start = (node: AST.TOMLNode): TextPosition => ({
  line: node.loc.start.line,
  column: node.loc.start.column + 1,
});
