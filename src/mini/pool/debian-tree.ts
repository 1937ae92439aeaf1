import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir } from 'node:fs/promises';

export interface DebianTree {
  suite: string;
  packages: string[];
  mirror: string;
  /** Made here. */
  folder: string;
  signal: AbortSignal;
}

/**
 * Unpacks a Debian with these packages into a folder; gives why it did not work, if so. The tree is made as an archive and
 * unpacked by the caller: made in place for an ordinary user, it would belong to ids that only namespaces know.
 */
export async function unpackDebian({ folder, signal, ...tree }: DebianTree): Promise<string | undefined> {
  await mkdir(folder, { recursive: true });
  const make = spawn('mmdebstrap', mmdebstrapArguments(tree), { stdio: ['ignore', 'pipe', 'pipe'], signal });
  const into = ['-x', '--no-same-owner', '--exclude=./dev/*', '-C', folder];
  const unpack = spawn('tar', into, { stdio: [make.stdout, 'ignore', 'pipe'], signal });
  // Read by tar alone: so the end of either is the end of both.
  make.stdout.destroy();
  const said = { make: '', unpack: '' };
  make.stderr.on('data', (chunk: Buffer) => {
    said.make += chunk.toString();
    // Without user ids of one's own mmdebstrap falls back to a way that cannot install these packages.
    if (said.make.includes('chosen mode: fakechroot')) make.kill();
  });
  unpack.stderr.on('data', (chunk: Buffer) => void (said.unpack += chunk.toString()));
  const [made, unpacked] = await Promise.all([ended(make), ended(unpack)]);
  signal.throwIfAborted();
  if (said.make.includes('chosen mode: fakechroot')) throw new Error(noIds);
  if (made !== undefined) return `mmdebstrap ${made}: ${complaintOf(said.make)}`;
  return unpacked === undefined ? undefined : `tar ${unpacked}: ${complaintOf(said.unpack)}`;
}

const noIds =
  'your account has no range of user ids in /etc/subuid and /etc/subgid, which an ordinary user needs for this (as root: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 NAME)';

function mmdebstrapArguments({
  suite,
  packages,
  mirror,
}: Pick<DebianTree, 'suite' | 'packages' | 'mirror'>): string[] {
  return [
    '--variant=apt',
    '--components=main',
    // The newest suite's Release file may be past its date.
    '--aptopt=Acquire::Check-Valid-Until "false"',
    '--aptopt=APT::Install-Recommends "false"',
    ...['doc', 'man', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
    `--include=${packages.join(',')}`,
    suite,
    '-',
    mirror,
  ];
}

/** How a process failed; undefined when it did not. */
function ended(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(`cannot be run (${error.message})`));
    child.on('close', (code, signal) =>
      resolve(code === 0 ? undefined : `ended with ${code ?? signal ?? '?'}`),
    );
  });
}

/** The first complaint tells the cause; those behind it only who else stopped. */
function complaintOf(said: string): string {
  const lines = said.trim().split('\n');
  return lines.find((line) => line.startsWith('E: ')) ?? lines.at(-1) ?? '';
}
