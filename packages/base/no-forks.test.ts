import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { noForkCommand } from './no-forks.ts';

test('a command with this prefix cannot start a process', async (t) => {
  const words = await noForkCommand({ PATH: process.env['PATH'] });
  if (words === undefined) {
    t.skip('this user has neither namespaces nor limits on this kernel');
    return;
  }
  const cwd = await temporaryFolder(t, {});
  const run = (...command: string[]) => spawnSync('env', [...words, ...command], { cwd });
  run('sh', '-c', '/bin/touch forked; exit 0');
  assert.equal(existsSync(path.join(cwd, 'forked')), false);
  assert.equal(run('touch', 'itself').status, 0);
  assert.equal(existsSync(path.join(cwd, 'itself')), true);
});

test('without the programs on the PATH there is no prefix', async () => {
  assert.equal(await noForkCommand({ PATH: '/nowhere' }), undefined);
});
