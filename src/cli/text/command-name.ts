import { realpath } from 'node:fs/promises';
import { type Env, findProgram, shellQuote, wrapLines } from '@updraft/base';
import { groups } from '../command-list.ts';

/**
 * What to type to run the file that was started, an executable or a script: `updraft` if that is on the PATH, else what
 * works in every folder. Somebody else's program of that name does not count.
 */
export async function commandName(started: string, env: Env): Promise<string> {
  // A source that was started directly: by a developer or a test.
  if (started.endsWith('.ts')) return 'updraft';
  if (env['npm_command'] === 'exec') return 'npx updraft';
  const found = await findProgram(['updraft'], env);
  const file = await realpath(started).catch(() => started);
  if (found !== undefined && (await realpath(found)) === file) return 'updraft';
  return /\.m?js$/.test(file) ? `node ${shellQuote(file)}` : shellQuote(file);
}

const names = Object.values(groups).flatMap(Object.keys).join('|');
const command = new RegExp(
  `(?<![\\w./-]|npx )updraft(?= (?:(?:${names}|help)\\b|--(?:help|version)\\b))`,
  'g',
);

/**
 * Replaces `updraft` in the commands of a text by what works here, once; other mentions stay. A sentence that becomes
 * too long for a terminal of `width` is wrapped again.
 */
export function withCommandName(text: string, name: string, width = Infinity): string {
  if (name === 'updraft') return text;
  const nameLine = (line: string): string => {
    const named = line.replace(command, () => name);
    return named === line || /^ *(?:\$ )?updraft /.test(line) ? named : wrapLines(named, width);
  };
  return text.split('\n').map(nameLine).join('\n');
}
