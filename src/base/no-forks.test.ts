import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { noForkCommand } from './no-forks.ts';

test('what runs behind these words cannot start a process', async (t) => {
  const words = await noForkCommand({ PATH: process.env['PATH'] });
  if (words === undefined) {
    t.skip('this kernel gives neither namespaces nor limits to this user');
    return;
  }
  const cwd = await temporaryFolder(t, {});
  const run = (...command: string[]) => spawnSync('env', [...words, ...command], { cwd });
  run('sh', '-c', '/bin/touch forked; exit 0');
  assert.equal(existsSync(path.join(cwd, 'forked')), false);
  assert.equal(run('touch', 'itself').status, 0);
  assert.equal(existsSync(path.join(cwd, 'itself')), true);
});

test('where nothing of the kind is on the PATH, there are none', async () => {
  assert.equal(await noForkCommand({ PATH: '/nowhere' }), undefined);
});
