/**
 * The line of what a failed program said that tells best why: its first line that begins with "error" or "fatal",
 * with the last cause where it lists them; else its last line. What follows a stack trace's head tells nothing.
 */
export function tellingLine(said: string): string {
  const drawn = drawnError(said);
  if (drawn !== undefined) return drawn;
  const lines = said
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
function drawnError(said: string): string | undefined {
  const lines = said.split('\n').map((line) => line.replace(/^[\s│]+/, '').trimEnd());
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
