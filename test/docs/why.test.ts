import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import * as why from '../../src/cli/commands/why.ts';
import { runCommand } from '../cli/run-command.ts';

const root = path.resolve(import.meta.dirname, '../..');

test('the example on the page about `updraft why` is what it prints', async () => {
  const page = readFileSync(path.join(root, 'docs/why.md'), 'utf8');
  const [, shown] = /```console\n\$ updraft why hold404\.log\n(.*?)```/s.exec(page) ?? [];
  const { out } = await runCommand(why, ['hold404.log'], {
    cwd: path.join(root, 'test/eventlogs'),
    outIsTerminal: true,
  });
  assert.equal(out.trimEnd(), shown?.trimEnd());
});
