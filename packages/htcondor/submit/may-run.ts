import { logicalLines } from './split-arguments.ts';

/**
 * Why `condor_submit` must not read this text, even with -dry-run: reading may run commands, depending on the
 * pool's configuration. Judged by the raw text, more strictly than HTCondor reads it; undefined when nothing in it can
 * make HTCondor run anything.
 */
export function whyNotRun(text: string): string | undefined {
  if (text.includes('\0')) return 'the file contains NUL bytes';
  if (/\\[ \t\r]*\n\s*#/.test(text))
    return 'it has a comment inside a continued line, part of which HTCondor keeps';
  const logical = logicalLines(text).map((line) => line.text);
  const statements = [...text.split(/[\r\n]/), ...logical].filter(
    (line) => !line.trimStart().startsWith('#'),
  );
  for (const line of statements) {
    const [, word] = /^[^a-z]*(use|if|elif|else|endif)\b/i.exec(line) ?? /(include)/i.exec(line) ?? [];
    if (word !== undefined)
      return `it has \`${word.toLowerCase()}\`: it can pull in the pool's configuration or run a command`;
    if (/oauth_|use_scitokens/i.test(line)) return 'it asks for credentials, which HTCondor would fetch';
  }
  const values = assignedValues(logical);
  const isCommand = statements.some((line) =>
    mayBeCommand(/^[^a-z]*queue\b(.*)$/is.exec(line)?.[1] ?? '', values),
  );
  return isCommand ? 'a queue statement runs a command, or may through a macro' : undefined;
}

/** Whether a queue statement has a pipe, or macros that may expand to one. */
function mayBeCommand(queue: string, values: Map<string, string>): boolean {
  const plain = queue.replaceAll(
    /\$\(([\w.]+)\)/g,
    (_, name: string) => values.get(name.toLowerCase()) ?? '$',
  );
  return /[|$]/.test(plain);
}

/** All values assigned to a name, joined; multi-line values stay whole. */
function assignedValues(lines: readonly string[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of lines) {
    const [, written = '', sign = '', value = ''] = /^([\w.]+)\s*(\W{0,3}?)=(.*)$/s.exec(line) ?? [];
    const name = written.toLowerCase();
    if (name !== '') values.set(name, (values.get(name) ?? '') + (sign.includes('@') ? '$' : value));
  }
  return values;
}
