import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { attributeOf } from '@updraft/htcondor/classad';
import { demoFederation } from '../mini/demo-federation.ts';
import { callPlugin, textAt } from './call-plugin.ts';

/** A disk of 1 MB with HTCondor's outfile on it, or undefined if this user cannot create one. */
async function smallDisk(t: TestContext): Promise<string | undefined> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-small-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).status === 0;
  t.after(async () => {
    if (mounted) spawnSync('umount', ['-l', folder]);
    await rm(folder, { recursive: true, force: true });
  });
  if (mounted) writeFileSync(path.join(folder, '.updraft_plugin.out'), ' '.repeat(19264));
  else t.skip('mounting a small tmpfs needs root');
  return mounted ? folder : undefined;
}

/** Takes every byte that is left. */
function fill(folder: string): void {
  const file = openSync(path.join(folder, 'fill'), 'w');
  try {
    for (;;) writeSync(file, Buffer.alloc(4096));
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
  } finally {
    closeSync(file);
  }
}

for (const [count, how] of [
  [1, 'in full'],
  [50, 'briefly, when there are more results than room'],
] as const)
  test(`a full disk is reported ${how}, and another machine may retry`, async (t) => {
    const { federation } = await demoFederation(t);
    const folder = await smallDisk(t);
    if (folder === undefined) return;
    const requests = Array.from({ length: count }, (_, index) => ({
      url: 'osdf:///demo/big.bin',
      file: path.join(folder, `big-${index}.bin`),
    }));
    // The requests are written before the rest of the disk is filled.
    const { exit, ads, stderr } = await callPlugin({
      folder,
      federation,
      requests,
      beforeStart: () => fill(folder),
    });
    assert.equal(exit, 11, stderr);
    assert.equal(ads.length, count);
    for (const ad of ads) assert.equal(attributeOf(ad, 'TransferSuccess'), false);
    assert.match(textAt(ads[0], 'TransferError'), /bytes needed, 0 free; fix: /);
    assert.ok(statSync(path.join(folder, '.updraft_plugin.out')).size >= 19264);
    assert.ok(!existsSync(path.join(folder, 'big-0.bin')));
  });
