import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';

const mount = (folder: string, ...options: string[]): boolean =>
  spawnSync('mount', ['-t', 'tmpfs', '-o', options.join(','), 'tmpfs', folder]).status === 0;

/** A disk of this size (default: 2 MB); undefined, and the test skipped, if this user cannot mount one. */
export async function smallDisk(t: TestContext, size = '2m'): Promise<string | undefined> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-small-disk-'));
  const mounted = mount(folder, `size=${size}`);
  t.after(async () => {
    if (mounted) spawnSync('umount', ['-l', folder]);
    await rm(folder, { recursive: true, force: true });
  });
  if (!mounted) t.skip('mounting a small tmpfs needs root');
  return mounted ? folder : undefined;
}

/** Gives a small disk another size. */
export const resizeDisk = (folder: string, size: string): boolean => mount(folder, 'remount', `size=${size}`);

export const makeReadOnly = (folder: string): boolean => mount(folder, 'remount', 'ro');
