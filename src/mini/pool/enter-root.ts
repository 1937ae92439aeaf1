import { insideHome, poolFolders } from './condor-config.ts';
import { poolUser } from './root-folder.ts';

/**
 * The script that turns a fresh user, mount and process namespace into the pool's machine. Not a chroot: inside
 * one the starter cannot make its mounts and Apptainer gets no user namespace; after pivot_root both work. The
 * caller, root or not, is mapped to one ordinary user, as HTCondor wants it for a personal pool. Folders
 * outside Debian's own are shared, so that a submit file means the same inside and outside.
 */
export const enterRootScript = [
  '#!/bin/sh',
  'set -e',
  // pivot_root is not on the PATH of ordinary users of Debian.
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
  // sshd gives a terminal to the group "tty" where there is one, and ends when it may not: only one group is mapped.
  'mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"',
  'grep -v "^tty:" "$root/etc/group" > "$home/group"',
  'mount --bind "$home/group" "$root/etc/group"',
  'mount -t proc proc "$root/proc"',
  // Sockets of daemons are each pool's own, though the root folder is everybody's.
  'mount -t tmpfs tmpfs "$root/run"',
  'mkdir -p "$root/.outside"',
  'cd "$root"',
  'pivot_root . .outside',
  'cd /',
  'umount -l /.outside',
  `exec unshare --user --map-user=${poolUser.uid} --map-group=${poolUser.uid} "$@"`,
  '',
].join('\n');

/** Process ids, seen from outside. */
interface Inhabitants {
  keeper: number;
  master: number;
}

/**
 * What runs a command as the pool's user inside the namespaces of the master. By way of the keeper's user namespace, which
 * owns the others: an ordinary user may enter them from there only.
 */
export const enterWords = ({ keeper, master }: Inhabitants): string[] => [
  ...['nsenter', `--user=/proc/${keeper}/ns/user`, '-t', String(master)],
  ...['--mount', '--pid', '--preserve-credentials', '--'],
  ...['nsenter', '-t', '1', '--user', '--preserve-credentials', '--'],
];

/** A command line that runs there in the caller's folder. */
export const insideScript = (inhabitants: Inhabitants): string =>
  [
    '#!/bin/sh',
    `exec ${enterWords(inhabitants).join(' ')} \\`,
    `  env -i PATH=/usr/sbin:/usr/bin HOME=${insideHome} LC_ALL=C.UTF-8 TERM="$TERM" CONDOR_CONFIG=${poolFolders(insideHome).config} \\`,
    `  sh -c 'cd "$1" && shift && exec "$@"' sh "$PWD" "\${0##*/}" "$@"`,
    '',
  ].join('\n');
