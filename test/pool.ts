import { access } from 'node:fs/promises';
import { mkdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, type TestContext } from 'node:test';
import { systemClock } from '../src/base/clock.ts';
import { withLease } from '../src/base/lease.ts';
import { identifyProcess } from '../src/base/process-identity.ts';
import { runningPool, startPool, stopPool, type PoolState } from '../src/mini/pool/pool.ts';
import { rootFolder } from '../src/mini/pool/root-folder.ts';
import { sites } from '../src/mini/pool/sites.ts';

const cache = path.join(process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache'), 'updraft');
/** The folder of the pool that the test files of one `npm test` share; whoever sets it stops the pool. */
const shared = process.env['UPDRAFT_TEST_POOL'];
const home = shared ?? path.join(cache, `test-pool-${process.pid}`);
const world = {
  clock: systemClock,
  kill: (pid: number, signal: NodeJS.Signals): void => {
    try {
      process.kill(pid, signal);
    } catch {
      // gone already
    }
  },
};

if (shared === undefined) after(() => stopTestPool(home));

/** A real HTCondor pool, shared by all tests; undefined, and the test skipped, where there can be none. */
export async function testPool(t: TestContext): Promise<PoolState | undefined> {
  const self = identifyProcess(process.pid);
  if (self === undefined) {
    t.skip('no /proc on this machine');
    return undefined;
  }
  try {
    await mkdir(home, { recursive: true });
    return await withLease(path.join(home, 'starting'), self, systemClock, startOnce);
  } catch (error) {
    t.skip(`no HTCondor pool can be had here: ${(error as Error).message}`);
    return undefined;
  }
}

/** As on real machines, a job that takes more memory than it asked for loses its slot, within seconds. */
const limits = ['use policy:HOLD_IF_MEMORY_EXCEEDED', 'PROCD_MAX_SNAPSHOT_INTERVAL = 1'];

async function startOnce(): Promise<PoolState> {
  const running = await runningPool(home);
  if (running !== undefined) return running;
  const signal = AbortSignal.timeout(300_000);
  const named = process.env['UPDRAFT_TEST_POOL_ROOT'];
  const root = named ?? (await rootFolder({ cacheFolder: cache, say: () => undefined, signal }));
  await access(path.join(root, 'usr/sbin/condor_master'));
  return await startPool({ root, home, sites, signal, config: limits, ...world });
}

/** Stops the pool of a folder, if one runs, and removes what it left. */
export async function stopTestPool(folder: string): Promise<void> {
  const state = await runningPool(folder);
  if (state !== undefined) await stopPool(state, world);
  await rm(folder, { recursive: true, force: true });
}
