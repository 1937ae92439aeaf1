import os from 'node:os';
import path from 'node:path';
import type { Env } from '../../base/env.ts';

/** Where all runs of this user account for what they use of this machine; homes are often shared by machines. */
export function localPoolFolder(env: Env): string {
  const home = env['HOME'] ?? os.homedir();
  const state = env['XDG_STATE_HOME'] ?? '';
  const root = path.isAbsolute(state) ? state : path.join(home, '.local', 'state');
  return path.join(root, 'updraft', 'local-pool', os.hostname());
}
