import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { cases } from './cases.ts';
import { replayCases } from './replay-cases.ts';

const root = path.join(import.meta.dirname, '..', '..');
const bun = [path.join(root, 'node_modules', '.bin', 'bun'), 'bun'].find(
  (command) => spawnSync(command, ['--version']).status === 0,
);

test(
  'every case comes out the same under Bun, which the agent runs on',
  { skip: bun === undefined && 'bun is not on this machine' },
  async () => {
    const script = path.join(import.meta.dirname, 'replay-cases.ts');
    const { stdout } = await promisify(execFile)(bun ?? '', [script], { maxBuffer: 1 << 26 });
    const [there, here] = [JSON.parse(stdout) as unknown[], await replayCases()];
    assert.equal(there.length, cases.length * 3);
    for (const [i, outcome] of here.entries())
      assert.deepEqual(there[i], JSON.parse(JSON.stringify(outcome)), outcome.name);
  },
);
