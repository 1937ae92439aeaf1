// Controls (C0, DEL, C1) could drive the terminal; bidirectional marks, line separators and what is not seen at all could disguise the text.
const unsafe =
  /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Text from a log, journal or server as one line that is safe on a terminal. */
export const printable = (text: string): string => text.replaceAll(/\s+/gu, ' ').replaceAll(unsafe, '\ufffd');

/** The same for many lines: line ends, tabs and the carriage returns of progress bars stay. */
export const printableLines = (text: string): string =>
  text.replaceAll(unsafe, (mark) => (/[\n\t\r]/.test(mark) ? mark : '\ufffd'));

/**
 * All that a command prints, whatever names came into it: no control but line ends and tabs. In JSON they stay what
 * they are, escaped.
 */
export const safeOutput = (text: string, isJson: boolean): string =>
  text.replaceAll(unsafe, (mark, at: number) => {
    if (mark === '\n' || mark === '\t' || (mark === '\r' && text[at + 1] === '\n')) return mark;
    return isJson ? mark.split('').map(escaped).join('') : '\ufffd';
  });

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

const parameter =
  '(?:authz|access_token|token|key|password|sig|[\\w-]*signature|[\\w-]*credential|x-amz-[\\w-]+)';
/** Only where a query's parameter can begin: folders may well be called `key=1`. */
const secretInQuery = new RegExp(`(?<=^|[?&\\s"'(<])(${parameter}=)[^&#\\s"'<>()|,;]+`, 'gi');
const secretInAddress = /(:\/\/)[^/?#\s"'@]*@/g;
/** Not the word `token` in a sentence: secrets have figures or dots inside. */
const secretInHeader = /(Bearer(?:\s|%20)+)(?=[\w~+/%=-]*[\d.][\w~+/%=-])[\w.~+/%=-]+/gi;

/** A URL, or words that hold some, without what gives access: passwords, signatures, tokens. */
export const withoutSecrets = (text: string): string =>
  text.replaceAll(secretInAddress, '$1').replaceAll(secretInQuery, '$1…').replaceAll(secretInHeader, '$1…');

/** The first few of many names, and how many more there are: `a, b and 3 more`. */
export function firstFew(names: readonly string[], max: number): string {
  const more = names.length - max;
  return `${names.slice(0, max).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/**
 * The line of what a failed program said that tells best why: its first line that begins with "error" or "fatal",
 * with the last cause where it lists them; else its last line. What follows a stack trace's head tells nothing.
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

/** Some programs draw their errors: a cross before what failed, arrows to its causes, lines broken at the screen's width. */
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
  // Lines are also broken after a hyphen, where no space was.
  const joined = text.replaceAll(/(?<=\w-)\n/g, '').replaceAll('\n', ' ');
  return joined.replace(/^.*?(?:×|╰─▶)\s*(?:×\s*)?/, '');
}
