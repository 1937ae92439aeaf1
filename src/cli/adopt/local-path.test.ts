import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import * as adopt from '../commands/adopt.ts';

test('a path of the access point is an error only in a pool that surely does not share it', async (t) => {
  const cwd = await temporaryFolder(t, {
    'job.sub':
      'executable = run.sh\narguments = /home/ada/images\nshould_transfer_files = YES\nlog = a.log\nqueue\n',
    'run.sh': '#!/bin/sh\nls "$1"\n',
  });
  let printed = '';
  const out = (text: string): void => void (printed += text);
  const { out: said } = await runCommand(adopt, ['job.sub'], { cwd, env: {} });
  assert.match(said, /local-path-perhaps[^]*\/home\/ada\/images` is in a home folder/);
  assert.match(said, /workers do not have it, unless the pool shares it with them/);
  const ofPool = runCommand(adopt, ['job.sub', '--pool', 'ospool'], { cwd, env: {}, out });
  await assert.rejects(ofPool, /has errors/);
  assert.match(printed, /local-path\b[^]*workers do not have it\n/);
});
