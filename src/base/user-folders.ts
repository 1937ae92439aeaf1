import os from 'node:os';
import path from 'node:path';
import type { Env } from './env.ts';

/** Where this user's own copies of what can be made again are: never a folder that others can write to. */
export const cacheFolder = (env: Env): string => userFolder(env, 'XDG_CACHE_HOME', '.cache');

/** Where commands of this user leave what later ones must find. */
export const stateFolder = (env: Env): string => userFolder(env, 'XDG_STATE_HOME', '.local/state');

function userFolder(env: Env, variable: string, inHome: string): string {
  const given = env[variable] ?? '';
  const home = env['HOME'] ?? '';
  // A relative path in these variables counts as none.
  const base = path.isAbsolute(given)
    ? given
    : path.join(path.isAbsolute(home) ? home : os.homedir(), inHome);
  return path.join(base, 'updraft');
}
