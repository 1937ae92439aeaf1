import { readFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { sites } from '../../src/mini/pool/condor-config.ts';
import { startPool, stopPool } from '../../src/mini/pool/pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const kill = (pid: number, signal: NodeJS.Signals): void => void process.kill(pid, signal);

/** A pool for one test, with one site, whose daemons may be stopped and killed. */
export async function ownPool(t: TestContext, root: string, config: string[] = []) {
  const home = await temporaryFolder(t);
  const context = { clock: systemClock, kill };
  const signal = AbortSignal.timeout(300_000);
  const state = await startPool({ root, home, sites: sites.slice(0, 1), signal, config, ...context });
  const childOf = async (parent: number, wanted: string): Promise<number> => {
    const children = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8');
    for (const pid of children.trim().split(' ').map(Number)) {
      const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
      if (name.trim() === wanted) return pid;
    }
    throw new Error(`the pool has no ${wanted}`);
  };
  const schedd = () => childOf(state.master, 'condor_schedd');
  const startd = () => childOf(state.master, 'condor_startd');
  t.after(async () => {
    // The master may have replaced one that did not answer.
    for (const daemon of [schedd, startd])
      await daemon()
        .then((pid) => kill(pid, 'SIGCONT'))
        .catch(() => undefined);
    await stopPool(state, context);
  });
  return {
    bin: state.bin,
    home,
    schedd,
    startd,
    starter: async () => childOf(await startd(), 'condor_starter'),
  };
}
