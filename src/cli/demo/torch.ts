import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { Env } from '../../base/env.ts';
import { findPython, type PythonTried } from '../../environment/find-python.ts';
import { Fault } from '../../fault/fault.ts';

const debianPackages = ['python3-torch', 'python3-torchvision'];
const modules = ['torch', 'torchvision', 'numpy'];

interface Machine {
  env: Env;
  uid: number;
  signal: AbortSignal;
  /** One line of talk; `transient` lines may be drawn over. */
  say: (line: string, transient?: boolean) => void;
}

/** An interpreter with PyTorch: the one that is there, or Debian's, installed now where we may. */
export async function ensureTorch(machine: Machine): Promise<string> {
  const before = await findPython(modules, machine.env, machine.signal);
  if (before.found !== undefined) return before.found;
  if (machine.uid !== 0 || !(await isDebian())) throw missing(before.tried);
  await aptInstall(machine);
  const after = await findPython(modules, machine.env, machine.signal);
  if (after.found === undefined) throw missing(after.tried);
  return after.found;
}

function missing(tried: PythonTried[]): Fault {
  const list = tried.map(({ path, lacks }) => `\n    ${path} lacks ${lacks}`).join('');
  return new Fault(
    'self-test-failed',
    `no Python here can import torch and torchvision${list || ' (there is no python3)'}`,
    {
      fix: `as root on Debian or Ubuntu: apt-get install ${debianPackages.join(' ')}; elsewhere: python3 -m pip install torch torchvision numpy`,
    },
  );
}

async function isDebian(): Promise<boolean> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(release);
}

async function aptInstall(machine: Machine): Promise<void> {
  machine.say(
    `PyTorch is missing: installing ${debianPackages.join(' and ')} from Debian's packages (once) ...`,
  );
  await apt(machine, ['update']);
  await apt(machine, ['install', '-y', '--no-install-recommends', ...debianPackages]);
}

/** Runs apt-get; its status lines (`dlstatus:…`, `pmstatus:…`) become one line of progress. */
function apt(machine: Machine, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      'apt-get',
      ['-q', '-o', 'APT::Status-Fd=3', '-o', 'DPkg::Lock::Timeout=300', ...args],
      {
        env: { ...machine.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
        stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
        signal: machine.signal,
      },
    );
    let complaints = '';
    child.stderr?.on(
      'data',
      (chunk: Buffer) => void (complaints = (complaints + chunk.toString()).slice(-2000)),
    );
    child.stdio[3]?.on('data', (chunk: Buffer) => {
      const last = chunk.toString().trim().split('\n').at(-1) ?? '';
      const [, , percent, what] = last.split(':');
      if (percent !== undefined) machine.say(`  ${Math.round(Number(percent))} % ${what ?? ''}`, true);
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve();
      else
        reject(
          new Fault('self-test-failed', `apt-get ${args[0] ?? ''} failed: ${complaints.trim()}`, {
            fix: `apt-get install ${debianPackages.join(' ')}`,
          }),
        );
    });
  });
}
