import path from 'node:path';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { type Clock, readJsonFile, shellQuote } from '@updraft/base';
import { identifyProcess, livenessOf, type ProcessIdentity, fullPidNamespace } from '@updraft/base/processes';
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
  // Run by its shell: a process started while the script was written may still hold it open ("text file busy").
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
        "HTCondor's sites did not come up within a minute (see " +
          `${state.home}/log)${trouble === '' ? '' : `: ${trouble}`}`,
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

/** Where the access point keeps the tree that its workers get as their root folder. */
const workerTree = '/.worker';

/** What daemons of both sides write and read. */
const sharedFolders = ['log', 'lock', 'run'];

/** pivot_root is not on the PATH of Debian's ordinary users, and the master starts its daemons without one. */
const systemPath = 'export PATH=/usr/sbin:/usr/bin:/sbin:/bin';

const asPoolUser = `unshare --user --map-user=${poolUser.uid} --map-group=${poolUser.uid}`;

/**
 * Turns a fresh user, mount and process namespace into the pool's access point. Not a chroot: there the starter cannot
 * make its mounts and Apptainer gets no user namespace; after pivot_root both work. The caller, root or not, is
 * mapped to one ordinary user, as HTCondor requires for a personal pool. Folders other than Debian's own are
 * shared, so that the paths of a submit file are the same inside and outside. If the pool has a folder for its
 * workers, their tree is prepared too: the same Debian, read-only, with nothing of this machine's users in it.
 */
export const enterRootScript = [
  '#!/bin/sh',
  'set -e',
  systemPath,
  'root=$1; home=$2; shift 2',
  'system() {',
  '  mount --rbind /sys "$1/sys"',
  '  mount --rbind /dev "$1/dev"',
  // sshd hands its terminal to the group "tty" if there is one, and exits if it cannot: only one group is mapped.
  '  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"',
  '  mount --bind "$home/group" "$1/etc/group"',
  '  mount -t proc proc "$1/proc"',
  // Pools share the root folder, but not the daemons' sockets.
  '  mount -t tmpfs tmpfs "$1/run"',
  '}',
  'mount --make-rprivate /',
  'mount --rbind "$root" "$root"',
  `mkdir -p "$root${insideHome}" "$root/.outside" "$root${workerTree}"`,
  'grep -v "^tty:" "$root/etc/group" > "$home/group"',
  'if [ -d "$home/worker" ]; then',
  `  worker=$root${workerTree}`,
  '  mount --bind "$root" "$worker"',
  `  mount --bind "$home/worker" "$worker${insideHome}"`,
  `  for name in ${sharedFolders.join(' ')}; do mount --bind "$home/$name" "$worker${insideHome}/$name"; done`,
  '  system "$worker"',
  '  mount -t tmpfs tmpfs "$worker/dev/shm"',
  // Refused where the folder's file system is mounted with restrictions of its own: then jobs could write into it.
  '  mount -o remount,bind,ro "$worker" || true',
  'fi',
  'for folder in /*; do',
  '  case $folder in /bin|/sbin|/lib*|/usr|/etc|/var|/proc|/sys|/dev|/run|/boot) continue ;; esac',
  '  [ -d "$folder" ] && [ ! -L "$folder" ] || continue',
  '  mkdir -p "$root$folder"',
  '  mount --rbind "$folder" "$root$folder"',
  'done',
  `mount --bind "$home" "$root${insideHome}"`,
  'system "$root"',
  'cd "$root"',
  'pivot_root . .outside',
  'cd /',
  'umount -l /.outside',
  `exec ${asPoolUser} "$@"`,
  '',
].join('\n');

/**
 * Starts a site's startd where its jobs run: in the workers' tree, with its own execute folder and /tmp. So a job sees
 * its sandbox and the system, as in a pool without a shared file system, and nothing of whoever submitted it.
 */
const workerScript = [
  '#!/bin/sh',
  '# condor_startd -f -local-name NAME',
  systemPath,
  `exec unshare --user --map-root-user --mount sh -ec '`,
  `  tree=${workerTree}`,
  `  mount --bind "${insideHome}/execute/$3" $tree${insideHome}/execute`,
  `  for tmp in /tmp /var/tmp; do mount --bind "${insideHome}/tmp/$3" $tree$tmp; done`,
  // On itself: a mount that came with the namespace cannot be moved. Debian's newest has no pivot_root.
  '  mount --rbind $tree $tree',
  '  cd $tree',
  '  mount --move . /',
  `  exec chroot . ${asPoolUser} /usr/sbin/condor_startd "$@"' sh "$@"`,
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
    `  env -i PATH=/usr/sbin:/usr/bin HOME=${insideHome} LC_ALL=C.UTF-8 ` +
      `TERM="$TERM" CONDOR_CONFIG=${poolFolders(insideHome).config} \\`,
    '  sh -c \'cd "$1" && shift && exec "$@"\' sh "$PWD" ' +
      `\${UPDRAFT_NO_FORKS:+${fullPidNamespace.map(shellQuote).join(' ')}} "\${0##*/}" "$@"`,
    '',
  ].join('\n');
