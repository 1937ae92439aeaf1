import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';

const systemFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin'];

/** Where a program is, or why it is not available; on Debian, root installs what is missing. */
export async function findProgram(
  program: string,
  packages: string[],
): Promise<{ file: string } | { missing: string }> {
  const there = findOnPath(program);
  if (there !== undefined) return { file: there };
  if (!existsSync('/etc/debian_version') || os.userInfo().uid !== 0)
    return { missing: `${program} is not here (Debian: apt-get install ${packages.join(' ')})` };
  const flags = ['-o', 'DPkg::Lock::Timeout=300', '-y', '-qq', '--no-install-recommends'];
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...words: string[]): Promise<string | undefined> =>
    promisify(execFile)('apt-get', words, { env }).then(
      () => undefined,
      (error: unknown) => (error as { stderr: string }).stderr.trim().split('\n').at(-1) ?? '',
    );
  const install = () => apt('install', ...flags, ...packages);
  let why = await install();
  if (why !== undefined) {
    await apt('update', '-qq');
    why = await install();
  }
  const file = findOnPath(program);
  return file === undefined
    ? { missing: `${program} could not be installed: ${why ?? 'it is in none of these packages'}` }
    : { file };
}

/** The same for a test: without the program the test is skipped with the reason. */
export async function needProgram(
  t: TestContext,
  program: string,
  packages: string[],
): Promise<string | undefined> {
  const found = await findProgram(program, packages);
  if ('file' in found) return found.file;
  t.skip(found.missing);
  return undefined;
}

function findOnPath(program: string): string | undefined {
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
