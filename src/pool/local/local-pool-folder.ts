import os from 'node:os';
import path from 'node:path';
import type { Env } from '../../base/env.ts';
import { stateFolder } from '../../base/user-folders.ts';

/** Where all runs of this user account for what they use of this machine; homes are often shared by machines. */
export const localPoolFolder = (env: Env): string => path.join(stateFolder(env), 'local-pool', os.hostname());
