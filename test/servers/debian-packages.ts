import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';

const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin'];

/** Where a program is, or why it is not available; on Debian, root installs what is missing. */
export function findProgram(program: string, packages: string[]): { file: string } | { missing: string } {
  const there = findOnPath(program);
  if (there !== undefined) return { file: there };
  if (!existsSync('/etc/debian_version') || os.userInfo().uid !== 0)
    return { missing: `${program} is not here (Debian: apt-get install ${packages.join(' ')})` };
  const flags = ['-o', 'DPkg::Lock::Timeout=300', '-y', '-qq', '--no-install-recommends'];
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = () => spawnSync('apt-get', ['install', ...flags, ...packages], { env, encoding: 'utf8' });
  let done = install();
  if (done.status !== 0) {
    spawnSync('apt-get', ['update', '-qq'], { env });
    done = install();
  }
  const file = findOnPath(program);
  const why = done.stderr.trim().split('\n').at(-1) ?? '';
  return file === undefined ? { missing: `${program} could not be installed: ${why}` } : { file };
}

/** The same for a test: without the program the test is skipped with the reason. */
export function needProgram(t: TestContext, program: string, packages: string[]): string | undefined {
  const found = findProgram(program, packages);
  if ('file' in found) return found.file;
  t.skip(found.missing);
  return undefined;
}

/** Where a program is, in the folders of the system. */
export function findOnPath(program: string): string | undefined {
  return systemFolders.map((folder) => path.join(folder, program)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
