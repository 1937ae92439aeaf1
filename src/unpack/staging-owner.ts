import { lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { identifySelf, livenessOf, type ProcessIdentity } from '../base/process-identity.ts';

export const stagingPrefix = '.updraft-unpack-';
const ownerFile = 'owner.json';

/** Says in a hidden folder which process unpacks there. */
export function markOwner(hidden: string): void {
  writeFileSync(path.join(hidden, ownerFile), JSON.stringify(identifySelf() ?? {}));
}

/** Removes the hidden folders that processes of the same user left in `folder` when they were killed. */
export function removeLeftOver(folder: string, mine: string): void {
  const { uid } = lstatSync(mine);
  const others = readdirSync(folder).filter((name) => name.startsWith(stagingPrefix));
  for (const hidden of others.map((name) => path.join(folder, name)))
    if (hidden !== mine && isLeftOver(hidden, uid)) rmSync(hidden, { recursive: true, force: true });
}

/** A folder is left alone unless it says whose it is, and that one is known to have ended. */
function isLeftOver(hidden: string, uid: number): boolean {
  try {
    const stat = lstatSync(hidden);
    if (!stat.isDirectory() || stat.uid !== uid) return false;
    const owner = JSON.parse(readFileSync(path.join(hidden, ownerFile), 'utf8')) as Partial<ProcessIdentity>;
    const { pid, start, host } = owner;
    if (pid === undefined || start === undefined || host === undefined) return false;
    return !inContainer(start) && livenessOf({ pid, start, host }) === 'dead';
  } catch {
    // Made or removed by another process just now.
    return false;
  }
}

/** Containers of one machine may share its name and this folder, and cannot see each other's processes. */
function inContainer(start: string): boolean {
  const [boot, space] = start.split('/');
  const [ourBoot, ourSpace] = (identifySelf()?.start ?? '').split('/');
  return boot === ourBoot && space !== ourSpace;
}
