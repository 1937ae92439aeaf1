import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Env } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { findPython } from '../src/environment/find-python.ts';

/** What installing a package needs. */
export interface Installer {
  env: Env;
  uid: number;
  signal: AbortSignal;
  /** Prints one line; `transient` lines may be overwritten. */
  say: (line: string, transient?: boolean) => void;
}

/** Whether packages can be installed here without a password. */
export async function canInstall({ uid }: Installer): Promise<boolean> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  return uid === 0 && /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(release);
}

export async function aptInstall(machine: Installer, packages: string[], why: string): Promise<void> {
  machine.say(`${why}: installing ${packages.join(' and ')} from Debian's packages (once) ...`);
  await apt(machine, ['update'], packages);
  await apt(machine, ['install', '-y', '--no-install-recommends', ...packages], packages);
}

/** Runs apt-get; its status lines (`dlstatus:…`, `pmstatus:…`) become one line of progress. */
async function apt(machine: Installer, args: string[], packages: string[]): Promise<void> {
  const flags = ['-q', '-o', 'APT::Status-Fd=3', '-o', 'DPkg::Lock::Timeout=300'];
  const child = spawn('apt-get', [...flags, ...args], {
    env: { ...machine.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    signal: machine.signal,
  });
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-2000);
  });
  child.stdio[3]?.on('data', (chunk: Buffer) => {
    const last = chunk.toString().trim().split('\n').at(-1) ?? '';
    const [, , percent, what] = last.split(':');
    if (percent !== undefined) machine.say(`  ${Math.round(Number(percent))} % ${what ?? ''}`, true);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code === 0) return;
  throw new Fault('self-test-failed', `apt-get ${args[0] ?? ''} failed: ${errors.trim()}`, {
    fix: `apt-get install ${packages.join(' ')}`,
  });
}

const debianPackages = ['python3-torch', 'python3-torchvision'];
const modules = ['torch', 'torchvision', 'numpy'];

/** An interpreter with PyTorch: an installed one, or Debian's, installed now where that is allowed. */
export async function ensureTorch(machine: Installer): Promise<string | undefined> {
  const search = async (): Promise<string | undefined> =>
    (await findPython(modules, machine.env, { signal: machine.signal })).found;
  const found = await search();
  if (found !== undefined || !(await canInstall(machine))) return found;
  await aptInstall(machine, debianPackages, 'PyTorch is missing');
  return await search();
}
