import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Env } from '../../base/env.ts';
import { stateFolder as userState } from '../../base/user-folders.ts';
import type { Cli } from '../cli.ts';

/** Where a part of the mini world keeps what other commands need to find it. */
export function miniFolder(cli: Cli, name: string, given: string | undefined): string {
  if (given !== undefined) return path.resolve(cli.cwd, given);
  return path.join(userState(cli.env), name);
}

/** Where a mini pool is, unless its user said otherwise. */
export const miniPoolHome = (env: Env): string => path.join(userState(env), 'mini-pool');

/**
 * The environment with HTCondor's commands of this user's mini pool behind all others of the PATH, where one runs: so a
 * pool that was started is there for every later command, in whatever shell.
 */
export async function withMiniPool(env: Env): Promise<Env> {
  const home = miniPoolHome(env);
  if (!existsSync(home)) return env;
  const { runningPool } = await import('../../mini/pool/pool.ts');
  const state = await runningPool(home);
  return state === undefined ? env : { ...env, PATH: [env['PATH'] ?? '', state.bin].join(':') };
}
