import { readFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { sites } from '@updraft/mini/pool';
import { startOwnPool } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A pool for one test, with one site, whose daemons may be stopped and killed. */
export async function ownPool(t: TestContext, root: string, config: string[] = []) {
  const home = await temporaryFolder(t);
  const { state, stop } = await startOwnPool({ root, home, sites: sites.slice(0, 1), config });
  const schedd = () => childOf(state.master, 'condor_schedd');
  const startd = () => childOf(state.master, 'condor_startd');
  t.after(async () => {
    // The master may have replaced one that did not answer.
    for (const daemon of [schedd, startd])
      await daemon()
        .then((pid) => process.kill(pid, 'SIGCONT'))
        .catch(() => undefined);
    await stop();
  });
  return {
    state,
    bin: state.bin,
    home,
    schedd,
    startd,
    starter: async () => childOf(await startd(), 'condor_starter'),
  };
}

/** A child by the name of its program. */
export async function childOf(parent: number, wanted: string): Promise<number> {
  const children = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8');
  for (const pid of children.trim().split(' ').map(Number)) {
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    if (name.trim() === wanted) return pid;
  }
  throw new Error(`the pool has no ${wanted}`);
}
