import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Clock, readJsonFile } from '@updraft/base';
import { identifyProcess, livenessOf, type ProcessIdentity } from '@updraft/base/processes';
import { removeTree, replaceFile } from '@updraft/base/disk';
import {
  condorConfig,
  gpuScript,
  insideHome,
  localName,
  poolFolders,
  type PoolFolders,
  type Site,
} from './condor-config.ts';
import { enterRootScript, insideScript, sharedFolders, workerScript } from './namespaces.ts';

const run = promisify(execFile);

/** What starting and stopping need from the caller. */
export interface MiniPoolContext {
  clock: Clock;
  kill: (pid: number, signal: NodeJS.Signals) => void;
}

export interface MiniPoolOptions extends MiniPoolContext {
  /** Debian root folder with HTCondor. */
  root: string;
  /** Where the pool keeps its configuration, logs, spool and execute folders. */
  home: string;
  sites: Site[];
  signal: AbortSignal;
  /** Additional configuration lines. */
  config?: string[];
}

/** A running pool, as recorded in `state.json`. */
export interface MiniPoolState {
  /** The outer process; when it ends, every process of the pool ends. */
  keeper: ProcessIdentity;
  /** The master's process id, outside its namespace. */
  master: number;
  root: string;
  home: string;
  sites: string[];
  /** Folder for the PATH: `condor_submit` and HTCondor's other commands. */
  bin: string;
}

const stateFile = (home: string): string => path.join(home, 'state.json');

/** The running pool of this folder, if any. */
export async function runningPool(home: string): Promise<MiniPoolState | undefined> {
  // Without one it was never started, or killed while writing it: then the pool did not come up.
  const state = await readJsonFile<MiniPoolState>(stateFile(home));
  if (state === undefined || livenessOf(state.keeper) !== 'alive') return undefined;
  // What is removed with the pool is here, whatever the file says.
  return { ...state, home, bin: poolFolders(home).bin };
}

/** Starts a real HTCondor with one startd per site and waits until every site has advertised its slots. */
export async function startPool(options: MiniPoolOptions): Promise<MiniPoolState> {
  const { home, sites } = options;
  const folders = poolFolders(home);
  await writeFiles(folders, options);
  const keeper = await startMaster(options.root, folders);
  const state = {
    keeper,
    master: await masterOf(keeper, options),
    root: options.root,
    home,
    sites: sites.map((site) => site.name),
    bin: folders.bin,
  };
  await writeTools(folders, state);
  await replaceFile(stateFile(home), JSON.stringify(state, undefined, 2));
  try {
    await waitForSites(state, options);
  } catch (error) {
    await stopPool(state, options);
    throw error;
  }
  return state;
}

async function writeFiles({ home, spool }: PoolFolders, { sites, config }: MiniPoolOptions): Promise<void> {
  const worker = path.join(home, 'worker');
  const perSite = sites.flatMap((site) =>
    ['execute', 'tmp'].map((name) => path.join(home, name, localName(site))),
  );
  const onBothSides = [home, worker].flatMap((side) => sharedFolders.map((name) => path.join(side, name)));
  for (const folder of [spool, ...onBothSides, path.join(worker, 'execute'), ...perSite])
    await mkdir(folder, { recursive: true });
  for (const secret of ['passwords.d', 'tokens.d'])
    await mkdir(path.join(home, secret), { recursive: true, mode: 0o700 });
  for (const side of [home, worker]) {
    await writeFile(poolFolders(side).config, condorConfig(sites, config));
    await writeProgram(path.join(side, 'gpus.sh'), gpuScript(sites));
  }
  await writeProgram(path.join(home, 'enter-root.sh'), enterRootScript);
  await writeProgram(path.join(home, 'startd.sh'), workerScript);
}

async function writeProgram(file: string, text: string): Promise<void> {
  await writeFile(file, text);
  await chmod(file, 0o755);
}

/** Starts the master in its own namespaces, with a clean environment: daemons pass theirs on to jobs and plugins. */
async function startMaster(root: string, folders: PoolFolders): Promise<ProcessIdentity> {
  const out = openSync(path.join(folders.log, 'start.log'), 'w');
  const namespaces = ['--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child'];
  // Run by its shell: a process that was started while the script was written may still hold it open ("text file busy").
  const enter = ['/bin/sh', path.join(folders.home, 'enter-root.sh'), root, folders.home];
  const child = spawn('unshare', [...namespaces, ...enter, '/usr/sbin/condor_master', '-f'], {
    detached: true,
    stdio: ['ignore', out, out],
    env: {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: insideHome,
      LC_ALL: 'C.UTF-8',
      CONDOR_CONFIG: poolFolders(insideHome).config,
    },
  });
  closeSync(out);
  await once(child, 'spawn');
  child.unref();
  const identity = identifyProcess(child.pid ?? 0);
  if (identity === undefined) throw new Error(await whyItEnded(folders));
  return identity;
}

/** Waits until the keeper's only child has become the master. */
async function masterOf(keeper: ProcessIdentity, { clock, signal, home }: MiniPoolOptions): Promise<number> {
  while (livenessOf(keeper) === 'alive') {
    const children = await readFile(`/proc/${keeper.pid}/task/${keeper.pid}/children`, 'utf8').catch(
      () => '',
    );
    const pid = Number.parseInt(children, 10);
    const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
    if (name.trim() === 'condor_master') return pid;
    await clock.sleep(20, signal);
  }
  throw new Error(await whyItEnded(poolFolders(home)));
}

async function whyItEnded(folders: PoolFolders): Promise<string> {
  const said = await readFile(path.join(folders.log, 'start.log'), 'utf8').catch(() => '');
  return `HTCondor did not start: ${said.trim().split('\n').at(-1) ?? ''} (see ${folders.log})`;
}

/** Links all HTCondor commands to one script that enters the pool's namespaces and runs the command there. */
async function writeTools(folders: PoolFolders, state: MiniPoolState): Promise<void> {
  await removeTree(folders.bin);
  await mkdir(folders.bin);
  const inside = path.join(folders.bin, '.inside');
  await writeProgram(inside, insideScript({ keeper: state.keeper.pid, master: state.master }));
  const names = await readdir(path.join(state.root, 'usr/bin'));
  for (const name of names)
    if (/^(condor_|htcondor$|apptainer$)/.test(name)) await symlink('.inside', path.join(folders.bin, name));
}

async function waitForSites(state: MiniPoolState, { sites, clock, signal }: MiniPoolOptions): Promise<void> {
  const deadline = clock.monotonic() + 60_000;
  const ask = async (...args: string[]): Promise<string> => {
    const limits = { signal, timeout: 10_000 };
    return (await run(path.join(state.bin, 'condor_status'), args, limits)).stdout.trim();
  };
  let trouble = '';
  for (;;) {
    // Before the collector listens, the tools fail: retry until the deadline.
    const ready = await Promise.all([ask('-af', 'GLIDEIN_ResourceName'), ask('-schedd', '-af', 'Name')]).then(
      ([slots, schedds]) => new Set(slots.split('\n')).size >= sites.length && schedds !== '',
      (error: unknown) => {
        trouble = String(error instanceof Error ? error.message : error).trim();
        return false;
      },
    );
    signal.throwIfAborted();
    if (ready) return;
    if (clock.monotonic() > deadline)
      throw new Error(
        `HTCondor's sites did not come up within a minute (see ${state.home}/log)${trouble === '' ? '' : `: ${trouble}`}`,
      );
    if (livenessOf(state.keeper) !== 'alive') throw new Error(await whyItEnded(poolFolders(state.home)));
    await clock.sleep(200, signal);
  }
}

/** Ends every process of the pool: first asks the master, then kills its namespace. */
export async function stopPool(state: MiniPoolState, { clock, kill }: MiniPoolContext): Promise<void> {
  const deadline = clock.monotonic() + 5000;
  kill(state.master, 'SIGQUIT');
  while (livenessOf(state.keeper) === 'alive' && clock.monotonic() < deadline) await clock.sleep(50);
  if (livenessOf(state.keeper) === 'alive') kill(state.keeper.pid, 'SIGKILL');
  while (livenessOf(state.keeper) === 'alive') await clock.sleep(20);
  await rm(stateFile(state.home), { force: true });
  // Leftover commands would pass for an HTCondor installed on this machine.
  await removeTree(state.bin);
}
