import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { bunFor, type Arch } from '../../scripts/bun.ts';

const suites = [
  'transfer/proof/checksums.test.ts',
  'transfer/fetch-to-file.test.ts',
  'transfer/fetch-to-stream.test.ts',
  'http/request.test.ts',
  'http/redirects.test.ts',
  'federation/put-object.test.ts',
].map((name) => path.join(import.meta.dirname, '..', name));

test('the same tests pass under Bun, which the agent runs on', { timeout: 300_000 }, async (t) => {
  const bun = await bunFor(os.arch() as Arch).catch((error: unknown) => {
    t.skip(`no Bun for this machine: ${String(error)}`);
    return undefined;
  });
  if (bun === undefined) return;
  const { stderr } = await promisify(execFile)(bun, ['test', '--timeout', '60000', ...suites]);
  assert.match(stderr, /\n 0 fail\n/);
  assert.match(stderr, /\n +[1-9]\d+ pass\n/);
});
