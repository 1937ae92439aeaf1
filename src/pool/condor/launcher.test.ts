import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { launcherScript, pluginScript } from './launcher.ts';

/** How a script ends where these programs are all there is beside the shell. */
async function runWith(t: TestContext, script: string, programs: string[]) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'launcher-'));
  t.after(() => rm(folder, { recursive: true }));
  for (const name of programs) await symlink(path.join('/usr/bin', name), path.join(folder, name));
  return await new Promise<{ code: unknown; said: string }>((resolve) => {
    execFile('/bin/sh', ['-c', script], { cwd: folder, env: { PATH: folder } }, (error, _, said) => {
      resolve({ code: error?.code ?? 0, said });
    });
  });
}

for (const [name, script] of Object.entries({ job: launcherScript, plugin: pluginScript })) {
  test(`the ${name}'s launcher names the program that a bare machine lacks, and ends as a broken environment`, async (t) => {
    const bare = await runWith(t, script, []);
    assert.equal(bare.code, 116);
    assert.match(bare.said, /updraft: the agent cannot be unpacked: .* has no gzip/);
    const packed = await runWith(t, script, ['mkdir', 'gzip', 'mv']);
    assert.equal(packed.code, 116);
    assert.match(packed.said, /has no chmod/);
  });

  test(`the ${name}'s launcher says when the packed agent is missing or damaged`, async (t) => {
    const { code, said } = await runWith(t, script, ['mkdir', 'gzip', 'mv', 'chmod']);
    assert.equal(code, 116);
    assert.match(said, /it is damaged, or the disk is full/);
  });
}
