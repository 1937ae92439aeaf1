import { readdir, readFile, stat } from 'node:fs/promises';
import os from 'node:os';
import type { MachineFacts } from './access-point.ts';

/** Looks at this machine's name, its HTCondor and who runs a schedd on it. */
export async function machineFacts(uid: number, proc = '/proc'): Promise<MachineFacts> {
  const condor = await stat('/etc/condor').catch(() => undefined);
  return { hostname: os.hostname(), hasCondor: condor !== undefined, hasSchedd: await hasSchedd(uid, proc) };
}

/** One of the user's own, such as a small pool for tests, is nobody else's business. */
async function hasSchedd(uid: number, proc: string): Promise<boolean> {
  for (const name of await readdir(proc).catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    const comm = await readFile(`${proc}/${name}/comm`, 'utf8').catch(() => '');
    if (comm.trim() !== 'condor_schedd') continue;
    const owner = await stat(`${proc}/${name}`).catch(() => undefined);
    if (owner !== undefined && owner.uid !== uid) return true;
  }
  return false;
}
