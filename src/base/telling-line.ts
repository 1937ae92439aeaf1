/**
 * The line of what a failed program said that tells best why: its first line that begins with "error" or "fatal",
 * with the last cause where it lists them; else its last line. What follows a stack trace's head tells nothing.
 */
export function tellingLine(said: string): string {
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
