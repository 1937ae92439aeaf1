import { fullPidNamespace } from '@updraft/base/processes';
import { shellQuote } from '@updraft/base';
import { insideHome, poolFolders } from './condor-config.ts';
import { poolUser } from './root-folder.ts';

/** Where the access point keeps the tree that its workers get as their root folder. */
const workerTree = '/.worker';

/** What daemons of both sides write and read. */
export const sharedFolders = ['log', 'lock', 'run'];

/** pivot_root is not on the PATH of Debian's ordinary users, and the master starts its daemons without one. */
const systemPath = 'export PATH=/usr/sbin:/usr/bin:/sbin:/bin';

const asPoolUser = `unshare --user --map-user=${poolUser.uid} --map-group=${poolUser.uid}`;

/**
 * Turns a fresh user, mount and process namespace into the pool's access point. Not a chroot: there the starter cannot
 * make its mounts and Apptainer gets no user namespace; after pivot_root both work. The caller, root or not, is mapped to
 * one ordinary user, as HTCondor requires for a personal pool. Folders other than Debian's own are shared, so that the
 * paths of a submit file are the same inside and outside. If the pool has a folder for its workers, their tree is
 * prepared too: the same Debian, read-only, with nothing of this machine's users in it.
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
export const workerScript = [
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
export const insideScript = (processes: PoolProcesses): string =>
  [
    '#!/bin/sh',
    `exec ${enterCommand(processes).join(' ')} \\`,
    `  env -i PATH=/usr/sbin:/usr/bin HOME=${insideHome} LC_ALL=C.UTF-8 TERM="$TERM" CONDOR_CONFIG=${poolFolders(insideHome).config} \\`,
    `  sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD" \${UPDRAFT_NO_FORKS:+${fullPidNamespace.map(shellQuote).join(' ')}} "\${0##*/}" "$@"`,
    '',
  ].join('\n');
