import os from 'node:os';
import path from 'node:path';
import { type Clock, isThere, systemClock } from '@updraft/base';
import { type ChildProcess, spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { removeTree } from '@updraft/base/disk';
import { identifySelf, withLease } from '@updraft/base/processes';

/** Newest first; stable is the fallback, without Apptainer. */
const suites = [
  { name: 'sid', packages: ['condor', 'apptainer', 'squashfuse', 'fuse3'] },
  { name: 'trixie', packages: ['condor', 'squashfuse', 'fuse3'] },
];

/** Slurm, for its tests: with 18 MB not worth a second root folder. */
const slurm = ['slurmctld', 'slurmd', 'slurm-client'];

/** The servers of OSDF's caches and origins, in the same folder for the same reason: 25 MB. */
const xrootd = ['xrootd-server', 'xrootd-plugins'];

/** Installed on every worker of the pool. */
const jobPackages = [
  'python3',
  'python3-numpy',
  'python3-torch',
  'python3-pil',
  'ca-certificates',
  'procps',
  'openssh-server',
  'openssh-client',
];

/** How often to look whether another process has built it. */
const waitMs = 500;

/** The pool's only user, whoever started it. */
export const poolUser = { name: 'researcher', uid: 1000 };

interface RootBuild {
  cacheFolder: string;
  clock?: Clock;
  say: Say;
  signal: AbortSignal;
}

/** A Debian root folder with HTCondor and what jobs need: built once, by one of all who ask for it, then reused. */
export async function rootFolder(build: RootBuild): Promise<string> {
  const recipe = hash('sha256', JSON.stringify([suites, slurm, xrootd, jobPackages, poolUser])).slice(0, 12);
  const folder = path.join(build.cacheFolder, `pool-root-${recipe}`);
  if (await isThere(folder)) return folder;
  const { clock = systemClock, say, signal } = build;
  let isSaid = false;
  const wait = async (): Promise<void> => {
    if (!isSaid) say('another process builds the root folder: waiting for it ...');
    isSaid = true;
    await clock.sleep(waitMs, signal);
  };
  const self = identifySelf();
  if (self === undefined) throw new Error('there is no /proc on this machine');
  return await withLease(`${folder}.lease`, self, clock, () => buildRoot(folder, build), wait);
}

async function buildRoot(folder: string, build: RootBuild): Promise<string> {
  if (await isThere(folder)) return folder;
  const mirror = await debianMirror();
  let failure: string | undefined;
  for (const suite of suites) {
    build.say(`building the pool's root folder from Debian ${suite.name} (once, about 350 MB) ...`);
    const attempt = `${folder}.${suite.name}.part`;
    await removeTree(attempt);
    try {
      const packages = [...suite.packages, ...slurm, ...xrootd, ...jobPackages];
      const { signal, say } = build;
      const progress = new BuildProgress(say);
      failure = await unpackDebian({
        suite: suite.name,
        packages,
        mirror,
        folder: attempt,
        signal,
        progress,
      });
      if (failure === undefined) {
        await finish(attempt);
        await rename(attempt, folder);
        return folder;
      }
    } finally {
      await removeTree(attempt);
    }
    build.say(`cannot use Debian ${suite.name}: ${failure}`);
  }
  throw new Error(`cannot build a root folder with HTCondor from any Debian suite: ${failure ?? ''}`);
}

/** Daemons run as one mapped user, whose name the folder must know. */
async function finish(folder: string): Promise<void> {
  const { name, uid } = poolUser;
  await appendFile(path.join(folder, 'etc/passwd'), `${name}:x:${uid}:${uid}::/tmp:/bin/sh\n`);
  await appendFile(path.join(folder, 'etc/group'), `${name}:x:${uid}:\n`);
  await writeFile(path.join(folder, 'etc/hosts'), `127.0.0.1 localhost ${os.hostname()}\n`);
}

/** The mirror from this machine's apt sources; no other may be reachable. */
async function debianMirror(): Promise<string> {
  for (const file of ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list']) {
    const text = await readFile(file, 'utf8').catch(() => '');
    const found = /^(?:URIs:\s*|deb\s+(?:\[[^\]]*\]\s*)?)(https?:\/\/\S+\/debian\/?)(?:\s|$)/m.exec(
      text,
    )?.[1];
    if (found !== undefined) return found;
  }
  throw new Error('found no Debian mirror in the apt sources of this machine');
}

interface DebianTree {
  suite: string;
  packages: string[];
  mirror: string;
  /** Created here. */
  folder: string;
  signal: AbortSignal;
  progress: BuildProgress;
}

/**
 * Unpacks a Debian with these packages into a folder; returns the reason if that fails. The caller unpacks it from an
 * archive: if mmdebstrap filled the folder for an ordinary user, its files would belong to ids of the namespace.
 */
async function unpackDebian({ folder, signal, progress, ...tree }: DebianTree): Promise<string | undefined> {
  await mkdir(folder, { recursive: true });
  const [program = '', ...words] = [...ownMounts(), 'mmdebstrap', ...mmdebstrapArguments(tree)];
  const make = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'], signal });
  const into = ['-x', '--no-same-owner', '--exclude=./dev/*', '-C', folder];
  const unpack = spawn('tar', into, { stdio: [make.stdout, 'ignore', 'pipe'], signal });
  // Only tar may read it: then the end of either process ends both.
  make.stdout.destroy();
  const said = { make: '', unpack: '' };
  createInterface({ input: make.stderr }).on('line', (line) => {
    said.make += `${line}\n`;
    progress.line(line);
    // Without subordinate ids mmdebstrap falls back to a mode that cannot install these packages.
    if (said.make.includes('chosen mode: fakechroot')) make.kill();
  });
  unpack.stderr.on('data', (chunk: Buffer) => void (said.unpack += chunk.toString()));
  const [made, unpacked] = await Promise.all([ended(make), ended(unpack)]);
  signal.throwIfAborted();
  if (said.make.includes('chosen mode: fakechroot')) throw new Error(noSubordinateIds);
  if (made !== undefined) return `mmdebstrap ${made}: ${firstError(said.make)}`;
  return unpacked === undefined ? undefined : `tar ${unpacked}: ${firstError(said.unpack)}`;
}

/**
 * As root, mmdebstrap mounts /proc, /sys and /dev: in a namespace of its own, so that none is left when it is
 * killed. For an ordinary user it makes one itself.
 */
const ownMounts = (): string[] => (os.userInfo().uid === 0 ? ['unshare', '--mount', '--'] : []);

const noSubordinateIds =
  'your account has no range of subordinate ids in /etc/subuid and /etc/subgid (as root, ' +
  'run: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 NAME)';

function mmdebstrapArguments({
  suite,
  packages,
  mirror,
}: Pick<DebianTree, 'suite' | 'packages' | 'mirror'>): string[] {
  return [
    '--verbose',
    '--variant=apt',
    // A folder that is incomplete after a crash is removed: there is no need to wait for the disk.
    '--dpkgopt=force-unsafe-io',
    '--components=main',
    // The Release file of the newest suite may have expired.
    '--aptopt=Acquire::Check-Valid-Until "false"',
    '--aptopt=APT::Install-Recommends "false"',
    ...['doc', 'man', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
    `--include=${packages.join(',')}`,
    suite,
    '-',
    mirror,
  ];
}

/** How a process failed; undefined if it succeeded. */
function ended(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(`cannot be run (${error.message})`));
    child.on('close', (code, signal) =>
      resolve(code === 0 ? undefined : `exited with ${code ?? signal ?? '?'}`),
    );
  });
}

/** The first error is the cause; later ones follow from it. */
function firstError(said: string): string {
  const lines = said.trim().split('\n');
  return lines.find((line) => line.startsWith('E: ')) ?? lines.at(-1) ?? '';
}

type Say = (line: string, transient?: boolean) => void;

/**
 * Shows what mmdebstrap does and how far it is, from what it and its dpkg print. It first installs a base system, then
 * the packages that were named.
 */
export class BuildProgress {
  readonly #say: Say;
  #packages = 0;
  #done = 0;

  constructor(say: Say) {
    this.#say = say;
  }

  line(text: string): void {
    const step = /^I: (.*?)\.*$/.exec(text)?.[1];
    if (step !== undefined) this.#say(step, true);
    const count = /(\d+) newly installed/.exec(text)?.[1];
    if (count !== undefined) [this.#packages, this.#done] = [Number(count), 0];
    const name = /^Setting up ([^\s:]+)/.exec(text)?.[1];
    if (name !== undefined) this.#say(`${name}: ${++this.#done} of ${this.#packages} packages`, true);
  }
}
