import { access, constants } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Env } from '../base/env.ts';
import { Fault } from '../fault/fault.ts';

/**
 * How the agent is started: the executable that `UPDRAFT_AGENT` names, or the one built for this machine, or, in a
 * checkout where none was built, its source under the Node that runs us. `self` is how this program is started.
 */
export async function agentCommand(env: Env, self: readonly string[]): Promise<string[]> {
  const named = env['UPDRAFT_AGENT'];
  if (named !== undefined && named !== '') {
    if (await can(named, constants.X_OK)) return [path.resolve(named)];
    throw new Fault('pool-unreachable', `UPDRAFT_AGENT names ${named}, which cannot be executed`, {
      fix: 'set it to the path of an agent executable, or unset it',
      about: named,
    });
  }
  const [node = '', main = ''] = self;
  const root = path.resolve(path.dirname(main), '..', '..');
  const built = path.join(root, 'dist', `updraft-agent-linux-${os.arch()}`);
  if (await can(built, constants.X_OK)) return [built];
  const source = path.join(path.dirname(main), '..', 'agent', path.basename(main));
  if (await can(source, constants.R_OK)) return [node, source];
  throw new Fault('pool-unreachable', `there is no agent for this machine: ${built} is not there`, {
    fix: 'build it with `npm run build:agent`, or set UPDRAFT_AGENT to an agent executable',
    about: built,
  });
}

function can(file: string, mode: number): Promise<boolean> {
  return access(file, mode).then(
    () => true,
    () => false,
  );
}
