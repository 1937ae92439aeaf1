import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { env } from 'node:process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const suites = ['fetch-to-file.test.ts', 'fetch-to-stream.test.ts'].map(
  (name) => `${import.meta.dirname}/${name}`,
);

test('the same promises hold under Bun, which the agent runs on', { timeout: 120_000 }, async (t) => {
  const bun = env['UPDRAFT_TEST_BUN'];
  if (bun === undefined || bun === '') {
    t.skip('no Bun: set UPDRAFT_TEST_BUN to its path');
    return;
  }
  const { stderr } = await promisify(execFile)(bun, ['test', ...suites]);
  assert.match(stderr, /\n 0 fail\n/);
  assert.match(stderr, /\n +[1-9]\d+ pass\n/);
});
