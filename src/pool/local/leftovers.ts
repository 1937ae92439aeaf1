import { readdir, readFile, readlink } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import { removeTree } from '../../base/remove-tree.ts';
import type { Kill } from '../pool.ts';

const rounds = 50;
const roundMs = 20;

/** Removes an attempt's scratch folder and every process that belongs to it, whatever state the agent left. */
export async function removeLeftovers(scratch: string, kill: Kill, clock: Clock): Promise<void> {
  // A process may fork while we look, so we look until none is left.
  for (let round = 0; round < rounds; round++) {
    const left = await processesOf(scratch);
    if (left.length === 0) break;
    for (const pid of left) kill(pid, 'SIGKILL');
    await clock.sleep(roundMs);
  }
  removeTree(scratch);
}

/** The folder's name is unique, so whoever carries it in the environment or stands in it belongs to the attempt. */
async function processesOf(scratch: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const environment = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '');
    const cwd = await readlink(`/proc/${name}/cwd`).catch(() => '');
    if (environment.includes(scratch) || `${cwd}/`.startsWith(`${scratch}/`)) found.push(Number(name));
  }
  return found;
}
