import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Env } from '@updraft/base';
import { stateFolder as userState } from '@updraft/base/user-folders';
import type { Cli } from '../cli.ts';

export const poolFolder = 'mini-pool';

/** Where a mini pool or mini federation keeps its state for later commands. */
export function miniFolder(cli: Cli, name: string, given: string | undefined): string {
  return given === undefined ? path.join(userState(cli.env), name) : path.resolve(cli.cwd, given);
}

/**
 * Appends the commands of the user's running mini pool to PATH, behind all others, so that later commands find the
 * pool in any shell.
 */
export async function withMiniPool(env: Env): Promise<Env> {
  const home = path.join(userState(env), poolFolder);
  if (!existsSync(home)) return env;
  const { runningPool } = await import('@updraft/mini/pool');
  const state = await runningPool(home);
  return state === undefined ? env : { ...env, PATH: [env['PATH'] ?? '', state.bin].join(':') };
}
