import { execFile } from 'node:child_process';
import { access, copyFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { isThere, systemClock } from '@updraft/base';
import { identifyProcess, withLease } from '@updraft/base/processes';
import { insideHome, type MiniPoolOptions } from '@updraft/mini/testing';
import { type MiniPoolState, rootFolder, runningPool, sites, startPool, stopPool } from '@updraft/mini/pool';
import { endWithUs } from './end-with-us.ts';
import { hangMs } from './hang-limit.ts';

const cache = path.join(process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache'), 'updraft');
/** The folder of the pool that all test files of an `npm test` share; the process that sets it stops the pool. */
const shared = process.env['UPDRAFT_TEST_POOL'];
const home = shared ?? path.join(cache, `test-pool-${process.pid}`);
/** `XDG_CACHE_HOME` for tests on the pool: the agent, which takes seconds to pack, is packed once. */
export const poolCache = path.join(home, 'cache');
const context = {
  clock: systemClock,
  kill: (pid: number, signal: NodeJS.Signals): void => {
    try {
      process.kill(pid, signal);
    } catch {
      // gone already
    }
  },
};

let stopOwn: (() => Promise<void>) | undefined;
if (shared === undefined)
  after(async () => {
    await stopOwn?.();
    await stopTestPool(home);
  });

/** A real HTCondor pool, shared by all tests; undefined, and the test skipped, if the machine cannot run one. */
export async function testPool(t: TestContext): Promise<MiniPoolState | undefined> {
  const self = identifyProcess(process.pid);
  const root = await poolRoot();
  if (self === undefined || 'lacks' in root) {
    t.skip(`this machine cannot run an HTCondor pool: ${'lacks' in root ? root.lacks : 'there is no /proc'}`);
    return undefined;
  }
  await mkdir(home, { recursive: true });
  return await withLease(path.join(home, 'starting'), self, systemClock, () => startOnce(root.folder));
}

/** The root folder of the mini pool, or what the machine lacks for it. A pool that then does not start is a failure. */
export async function poolRoot(): Promise<{ folder: string } | { lacks: string }> {
  const namespaces = ['--user', '--map-root-user', '--mount', '--pid', '--fork', 'true'];
  try {
    await promisify(execFile)('unshare', namespaces);
    const named = process.env['UPDRAFT_TEST_POOL_ROOT'];
    const signal = AbortSignal.timeout(hangMs);
    const folder = named ?? (await rootFolder({ cacheFolder: cache, say: () => undefined, signal }));
    await access(path.join(folder, 'usr/sbin/condor_master'));
    return { folder };
  } catch (error) {
    return { lacks: (error as Error).message };
  }
}

/** A folder by which a test and its jobs signal each other; apart from that, workers see nothing of this machine. */
export interface MeetingPlace {
  here: string;
  onWorker: string;
}

/** A folder that the pool's daemons share, as this machine and as its workers name it. */
export async function meetingPlace(poolHome: string): Promise<MeetingPlace> {
  const here = await mkdtemp(path.join(poolHome, 'run/test-'));
  return { here, onWorker: path.join(insideHome, path.relative(poolHome, here)) };
}

/** By the pool's folder: test files that share a process may have pools of their own. */
const agentsThere = new Map<string, Promise<string>>();

/**
 * An agent for jobs of the pool that are not about its travel: a script that starts the built one in a folder that
 * workers see. Sending 50 MB and unpacking 100 MB would be most of what a short job costs. Not for jobs in an image.
 */
export function agentOnWorkers({ home: poolHome }: MiniPoolState, built: string): Promise<string> {
  const known = agentsThere.get(poolHome) ?? placeAgent(poolHome, built);
  agentsThere.set(poolHome, known);
  return known;
}

async function placeAgent(poolHome: string, built: string): Promise<string> {
  const program = path.join(poolHome, 'run/updraft-agent');
  const script = path.join(poolHome, 'agent');
  if (await isThere(script)) return script;
  // Test files run at the same time: each file appears whole.
  const drafts = [program, script].map((file) => `${file}-${process.pid}`);
  await copyFile(built, drafts[0]!);
  const inside = path.join(insideHome, path.relative(poolHome, program));
  await writeFile(drafts[1]!, `#!/bin/sh\nexec ${inside} "$@"\n`, { mode: 0o755 });
  await rename(drafts[0]!, program);
  await rename(drafts[1]!, script);
  return script;
}

async function startOnce(root: string): Promise<MiniPoolState> {
  const running = await runningPool(home);
  if (running !== undefined) return running;
  // Images of a test's own registry come without TLS.
  const wanted = { root, home, sites, config: ['SINGULARITY_EXTRA_ARGUMENTS = "--no-https"'] };
  if (shared !== undefined) return await start(wanted);
  const { state, stop } = await startOwnPool(wanted);
  stopOwn = stop;
  return state;
}

type WantedPool = Pick<MiniPoolOptions, 'root' | 'home' | 'sites' | 'config'>;

const start = (wanted: WantedPool): Promise<MiniPoolState> =>
  startPool({ ...wanted, signal: AbortSignal.timeout(hangMs), ...context });

/** Starts a pool that ends with this process, its files too, if it is not stopped before. */
export async function startOwnPool(wanted: WantedPool) {
  const state = await start(wanted);
  const guard = endWithUs({ targets: [state.keeper.pid], folders: [wanted.home] });
  const stop = async (): Promise<void> => {
    await stopPool(state, context);
    await rm(wanted.home, { recursive: true, force: true });
    guard[Symbol.dispose]();
  };
  return { state, stop };
}

/** Stops the pool of a folder, if one runs, and removes its files. */
export async function stopTestPool(folder: string): Promise<void> {
  const state = await runningPool(folder);
  if (state !== undefined) await stopPool(state, context);
  await rm(folder, { recursive: true, force: true });
}
