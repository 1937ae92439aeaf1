import { logicalLines } from './split-arguments.ts';

/**
 * Why `condor_submit` must not read this text, even to try: reading may run commands, and which ones depends on the
 * pool's configuration. Judged by the raw text, more strictly than HTCondor reads it; undefined when nothing in it can
 * make HTCondor run anything.
 */
export function whyNotRun(text: string): string | undefined {
  if (text.includes('\0')) return 'the file has zero bytes, which HTCondor reads in its own way';
  if (/\\[ \t\r]*\n\s*#/.test(text))
    return 'it has a comment inside a continued line, which HTCondor keeps in part';
  const logical = logicalLines(text).map((line) => line.text);
  const statements = [...text.split(/[\r\n]/), ...logical].filter(
    (line) => !line.trimStart().startsWith('#'),
  );
  for (const line of statements) {
    const [, word] = /^[^a-z]*(use|if|elif|else|endif)\b/i.exec(line) ?? /(include)/i.exec(line) ?? [];
    if (word !== undefined)
      return `it has \`${word.toLowerCase()}\`: by it the pool's configuration or a command would be part of the file`;
    if (/oauth_|use_scitokens/i.test(line)) return 'it asks for credentials, which HTCondor would fetch';
  }
  const values = assignedValues(logical);
  const isCommand = statements.some((line) =>
    mayBeCommand(/^[^a-z]*queue\b(.*)$/is.exec(line)?.[1] ?? '', values),
  );
  return isCommand ? 'it would run a command that the file names, or may name by a macro' : undefined;
}

/** Whether a queue statement has a pipe, or macros that may expand to one. */
function mayBeCommand(queue: string, values: Map<string, string>): boolean {
  const plain = queue.replaceAll(
    /\$\(([\w.]+)\)/g,
    (_, name: string) => values.get(name.toLowerCase()) ?? '$',
  );
  return /[|$]/.test(plain);
}

/** Everything that a name is assigned, joined; texts of several lines are not taken apart. */
function assignedValues(lines: readonly string[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const line of lines) {
    const [, written = '', sign = '', value = ''] = /^([\w.]+)\s*(\W{0,3}?)=(.*)$/s.exec(line) ?? [];
    const name = written.toLowerCase();
    if (name !== '') values.set(name, (values.get(name) ?? '') + (sign.includes('@') ? '$' : value));
  }
  return values;
}
