import os from 'node:os';
import path from 'node:path';
import type { Env } from './env.ts';

/** The user's cache folder: never one that others can write to. */
export const cacheFolder = (env: Env): string => userFolder(env, 'XDG_CACHE_HOME', '.cache');

/** Where the user's settings are. */
export const configFolder = (env: Env): string => userFolder(env, 'XDG_CONFIG_HOME', '.config');

/** The folder where commands leave state for later ones. */
export const stateFolder = (env: Env): string => userFolder(env, 'XDG_STATE_HOME', '.local/state');

function userFolder(env: Env, variable: string, inHome: string): string {
  const given = env[variable] ?? '';
  const home = env['HOME'] ?? '';
  // The XDG specification says to ignore relative paths.
  const base = path.isAbsolute(given)
    ? given
    : path.join(path.isAbsolute(home) ? home : os.homedir(), inHome);
  return path.join(base, 'updraft');
}
