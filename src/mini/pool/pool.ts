import { execFile, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Clock } from '../../base/clock.ts';
import { fullPidNamespace } from '../../base/no-forks.ts';
import { identifyProcess, livenessOf, type ProcessIdentity } from '../../base/process-identity.ts';
import { shellQuote } from '../../base/shell-quote.ts';
import {
  condorConfig,
  gpuScript,
  insideHome,
  localName,
  poolFolders,
  type PoolFolders,
  type Site,
} from './condor-config.ts';
import { poolUser } from './root-folder.ts';

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
  try {
    const state = JSON.parse(await readFile(stateFile(home), 'utf8')) as MiniPoolState;
    return livenessOf(state.keeper) === 'alive' ? state : undefined;
  } catch {
    // Never started, or killed while writing it: then the pool did not come up.
    return undefined;
  }
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
  await writeFile(stateFile(home), JSON.stringify(state, undefined, 2));
  try {
    await waitForSites(state, options);
  } catch (error) {
    await stopPool(state, options);
    throw error;
  }
  return state;
}

async function writeFiles(folders: PoolFolders, { sites, config }: MiniPoolOptions): Promise<void> {
  const { home, log, spool, execute } = folders;
  const inside = ['lock', 'run'].map((name) => path.join(home, name));
  for (const folder of [log, spool, ...inside, ...sites.map((site) => path.join(execute, localName(site)))])
    await mkdir(folder, { recursive: true });
  for (const secret of ['passwords.d', 'tokens.d'])
    await mkdir(path.join(home, secret), { recursive: true, mode: 0o700 });
  await writeFile(folders.config, condorConfig(sites, config));
  await writeProgram(path.join(home, 'gpus.sh'), gpuScript(sites));
  await writeProgram(path.join(home, 'enter-root.sh'), enterRootScript);
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
  await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
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
  await rm(folders.bin, { recursive: true, force: true });
  await mkdir(folders.bin);
  const inside = path.join(folders.bin, '.inside');
  await writeProgram(inside, insideScript({ keeper: state.keeper.pid, master: state.master }));
  const names = await readdir(path.join(state.root, 'usr/bin'));
  for (const name of names)
    if (/^(condor_|htcondor$|apptainer$)/.test(name)) await symlink('.inside', path.join(folders.bin, name));
}

async function waitForSites(state: MiniPoolState, { sites, clock, signal }: MiniPoolOptions): Promise<void> {
  const deadline = clock.monotonic() + 60_000;
  const offered = async (): Promise<number> => {
    const { stdout } = await run(path.join(state.bin, 'condor_status'), ['-af', 'GLIDEIN_ResourceName'], {
      signal,
      timeout: 10_000,
    });
    return new Set(stdout.trim().split('\n')).size;
  };
  const schedds = async (): Promise<number> => {
    const { stdout } = await run(path.join(state.bin, 'condor_status'), ['-schedd', '-af', 'Name'], {
      signal,
      timeout: 10_000,
    });
    return stdout.trim().length;
  };
  let trouble = '';
  for (;;) {
    // Before the collector listens, the tools fail: retry until the deadline.
    const ready = await Promise.all([offered(), schedds()]).then(
      ([slots, queue]) => slots >= sites.length && queue > 0,
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
  await rm(state.bin, { recursive: true, force: true });
}

/**
 * Turns a fresh user, mount and process namespace into the pool's machine. Not a chroot: there the starter cannot make
 * its mounts and Apptainer gets no user namespace; after pivot_root both work. The caller, root or not, is mapped to one
 * ordinary user, as HTCondor requires for a personal pool. Folders other than Debian's own are shared, so that the
 * paths of a submit file are the same inside and outside.
 */
export const enterRootScript = [
  '#!/bin/sh',
  'set -e',
  // pivot_root is not on the PATH of Debian's ordinary users.
  'export PATH=/usr/sbin:/usr/bin:/sbin:/bin',
  'root=$1; home=$2; shift 2',
  'mount --make-rprivate /',
  'mount --rbind "$root" "$root"',
  'for folder in /*; do',
  '  case $folder in /bin|/sbin|/lib*|/usr|/etc|/var|/proc|/sys|/dev|/run|/boot) continue ;; esac',
  '  [ -d "$folder" ] && [ ! -L "$folder" ] || continue',
  '  mkdir -p "$root$folder"',
  '  mount --rbind "$folder" "$root$folder"',
  'done',
  `mkdir -p "$root${insideHome}"`,
  `mount --bind "$home" "$root${insideHome}"`,
  'mount --rbind /sys "$root/sys"',
  'mount --rbind /dev "$root/dev"',
  // sshd hands its terminal to the group "tty" if there is one, and exits if it cannot: only one group is mapped.
  'mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"',
  'grep -v "^tty:" "$root/etc/group" > "$home/group"',
  'mount --bind "$home/group" "$root/etc/group"',
  'mount -t proc proc "$root/proc"',
  // Pools share the root folder, but not the daemons' sockets.
  'mount -t tmpfs tmpfs "$root/run"',
  'mkdir -p "$root/.outside"',
  'cd "$root"',
  'pivot_root . .outside',
  'cd /',
  'umount -l /.outside',
  `exec unshare --user --map-user=${poolUser.uid} --map-group=${poolUser.uid} "$@"`,
  '',
].join('\n');

/** Process ids, outside the namespace. */
interface PoolProcesses {
  keeper: number;
  master: number;
}

/**
 * Runs a command as the pool's user inside the master's namespaces. It goes through the keeper's user namespace, which
 * owns the others: only from there may an ordinary user enter them.
 */
export const enterCommand = ({ keeper, master }: PoolProcesses): string[] => [
  'nsenter',
  `--user=/proc/${keeper}/ns/user`,
  '-t',
  String(master),
  '--mount',
  '--pid',
  '--preserve-credentials',
  '--',
  'nsenter',
  '-t',
  '1',
  '--user',
  '--preserve-credentials',
  '--',
];

/** Runs a command there in the caller's folder; with UPDRAFT_NO_FORKS set, it cannot start a process. */
const insideScript = (processes: PoolProcesses): string =>
  [
    '#!/bin/sh',
    `exec ${enterCommand(processes).join(' ')} \\`,
    `  env -i PATH=/usr/sbin:/usr/bin HOME=${insideHome} LC_ALL=C.UTF-8 TERM="$TERM" CONDOR_CONFIG=${poolFolders(insideHome).config} \\`,
    `  sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD" \${UPDRAFT_NO_FORKS:+${fullPidNamespace.map(shellQuote).join(' ')}} "\${0##*/}" "$@"`,
    '',
  ].join('\n');
