import path from 'node:path';
import { stateFolder as userState } from '../../base/user-folders.ts';
import type { Cli } from '../cli.ts';

/** Where a part of the mini world keeps what other commands need to find it. */
export function stateFolder(cli: Cli, name: string, given: string | undefined): string {
  if (given !== undefined) return path.resolve(cli.cwd, given);
  return path.join(userState(cli.env), name);
}
