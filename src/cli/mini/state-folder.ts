import os from 'node:os';
import path from 'node:path';
import type { Cli } from '../cli.ts';

/** Where a part of the mini world keeps what other commands need to find it. */
export function stateFolder(cli: Cli, name: string, given: string | undefined): string {
  if (given !== undefined) return path.resolve(cli.cwd, given);
  const state = cli.env['XDG_STATE_HOME'] ?? '';
  const base = path.isAbsolute(state) ? state : path.join(cli.env['HOME'] ?? os.homedir(), '.local', 'state');
  return path.join(base, 'updraft', name);
}
