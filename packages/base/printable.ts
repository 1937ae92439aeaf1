// Controls (C0, DEL, C1) could control the terminal; bidirectional marks,
// line separators and invisible characters could disguise text.
const unsafe =
  /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Text from a log, journal or server as one line that is safe on a terminal. */
export const printable = (text: string): string => text.replaceAll(/\s+/gu, ' ').replaceAll(unsafe, '\ufffd');

/** The same for many lines: line ends, tabs and the carriage returns of progress bars stay. */
export const printableLines = (text: string): string =>
  text.replaceAll(unsafe, (mark) => (/[\n\t\r]/.test(mark) ? mark : '\ufffd'));

/**
 * Filters everything a command prints: no controls except line ends and tabs. In JSON they are escaped instead of
 * replaced.
 */
export const safeOutput = (text: string, isJson: boolean): string =>
  text.replaceAll(unsafe, (mark, at: number) => {
    if (mark === '\n' || mark === '\t' || (mark === '\r' && text[at + 1] === '\n')) return mark;
    return isJson ? mark.split('').map(escaped).join('') : '\ufffd';
  });

/** The text with escapes for what is unsafe and not `kept`, so that different texts stay different: `x\u202ey`. */
export const withEscapes = (text: string, kept = ''): string =>
  text.replaceAll(unsafe, (mark) =>
    kept.includes(mark) ? mark : (lineMarks[mark] ?? mark.split('').map(escaped).join('')),
  );
const lineMarks: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** The first few of many names, and how many more there are: `a, b and 3 more`. */
export function firstFew(names: readonly string[], max: number): string {
  const more = names.length - max;
  return `${names.slice(0, max).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/**
 * The most informative line of a failed program's output: the first that begins with "error" or "fatal", with the last
 * cause if causes are listed; else the last line. Stack traces are dropped.
 */
export function informativeLine(output: string): string {
  const boxed = boxedError(output);
  if (boxed !== undefined) return boxed;
  const lines = output
    .replace(/^\s*stack backtrace:[^]*/im, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const error = lines.findIndex((line) => /^(error|fatal)\b|^×/i.test(line));
  const last = lines.at(-1) ?? '';
  if (error === -1) return last;
  const first = lines[error] ?? '';
  return lines.indexOf('Caused by:', error) === -1 ? first : `${first}: ${last.replace(/^\d+: /, '')}`;
}

/** Some programs draw their errors: a cross before the failure, arrows to its causes, wrapped lines. */
function boxedError(output: string): string | undefined {
  const lines = output.split('\n').map((line) => line.replace(/^[\s│]+/, '').trimEnd());
  const what = lines.findIndex((line) => line.includes('×'));
  const cause = lines.findLastIndex((line) => line.startsWith('╰─▶'));
  if (what === -1) return undefined;
  return cause < what
    ? paragraphAt(lines, what)
    : `${paragraphAt(lines, what).replace(/\.$/, '')}: ${paragraphAt(lines, cause)}`;
}

function paragraphAt(lines: string[], at: number): string {
  const after = lines.slice(at + 1);
  const end = after.findIndex((line) => line === '' || /^(?:[├╰╭⚠]|help:)/.test(line));
  const text = [lines[at], ...(end === -1 ? after : after.slice(0, end))].join('\n');
  // Lines are also wrapped after a hyphen, without a space.
  const joined = text.replaceAll(/(?<=\w-)\n/g, '').replaceAll('\n', ' ');
  return joined.replace(/^.*?(?:×|╰─▶)\s*(?:×\s*)?/, '');
}

/** A sentence cut at its `code`, which Updraft's own sentences mark as Markdown does. */
export const codeSpans = <T>(sentence: string, asCode: (code: string) => T): (string | T)[] =>
  sentence.split(/`([^`]+)`/).map((part, index) => (index % 2 === 1 ? asCode(part) : part));
