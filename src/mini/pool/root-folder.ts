import { createHash } from 'node:crypto';
import { access, appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { removeTree } from '../../base/remove-tree.ts';
import { unpackDebian } from './debian-tree.ts';

/** Newest first; the stable one is the dependable fallback, without Apptainer. */
const suites = [
  { name: 'sid', packages: ['condor', 'apptainer', 'squashfuse', 'fuse3'] },
  { name: 'trixie', packages: ['condor', 'squashfuse', 'fuse3'] },
];

/** The other scheduler that Updraft speaks to: 18 MB, so that its tests need no folder of their own. */
const slurm = ['slurmctld', 'slurmd', 'slurm-client'];

/** What jobs find on every worker of the pool. */
const forJobs = [
  'python3',
  'python3-numpy',
  'python3-torch',
  'python3-pil',
  'ca-certificates',
  'procps',
  'openssh-server',
  'openssh-client',
];

/** The one user of the pool, whoever started it outside. */
export const poolUser = { name: 'researcher', uid: 1000 };

interface Build {
  cacheFolder: string;
  say: (line: string) => void;
  signal: AbortSignal;
}

/** A Debian root folder with HTCondor and what jobs need: made once, then found again. */
export async function rootFolder(build: Build): Promise<string> {
  const recipe = createHash('sha256')
    .update(JSON.stringify([suites, slurm, forJobs, poolUser]))
    .digest('hex')
    .slice(0, 12);
  const folder = path.join(build.cacheFolder, `pool-root-${recipe}`);
  if (await exists(folder)) return folder;
  await mkdir(build.cacheFolder, { recursive: true });
  const mirror = await debianMirror();
  let failure: string | undefined;
  for (const suite of suites) {
    build.say(`building the pool's root folder from Debian ${suite.name} (once, a few minutes) ...`);
    const attempt = `${folder}.${suite.name}.part`;
    removeTree(attempt);
    try {
      const packages = [...suite.packages, ...slurm, ...forJobs];
      const { signal } = build;
      failure = await unpackDebian({ suite: suite.name, packages, mirror, folder: attempt, signal });
      if (failure === undefined) {
        await finish(attempt);
        await rename(attempt, folder);
        return folder;
      }
    } finally {
      removeTree(attempt);
    }
    build.say(`Debian ${suite.name} cannot be used: ${failure}`);
  }
  throw new Error(`no Debian suite gave a root folder with HTCondor: ${failure ?? ''}`);
}

/** Daemons run under one mapped user, which the folder must know by name. */
async function finish(folder: string): Promise<void> {
  const { name, uid } = poolUser;
  await appendFile(path.join(folder, 'etc/passwd'), `${name}:x:${uid}:${uid}::/tmp:/bin/sh\n`);
  await appendFile(path.join(folder, 'etc/group'), `${name}:x:${uid}:\n`);
  await writeFile(path.join(folder, 'etc/hosts'), `127.0.0.1 localhost ${os.hostname()}\n`);
}

/** The mirror the machine's own apt sources name: a pool that is built here must not know another. */
async function debianMirror(): Promise<string> {
  for (const file of ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list']) {
    const text = await readFile(file, 'utf8').catch(() => '');
    const found = /^(?:URIs:\s*|deb\s+(?:\[[^\]]*\]\s*)?)(https?:\/\/\S+\/debian\/?)(?:\s|$)/m.exec(
      text,
    )?.[1];
    if (found !== undefined) return found;
  }
  throw new Error("no Debian mirror in this machine's apt sources");
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );
