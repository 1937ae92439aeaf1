import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { bunFor, type Arch } from '../../scripts/bun.ts';
import { cases } from './cases.ts';
import { replayCases } from './replay-cases.ts';

const bun = await bunFor(process.arch as Arch).catch(() => undefined);

test(
  'every case has the same outcome under Bun, which the agent runs on',
  { skip: bun === undefined && "the agent's Bun is not available" },
  async () => {
    const script = path.join(import.meta.dirname, 'replay-cases.ts');
    const { stdout } = await promisify(execFile)(bun ?? '', [script], { maxBuffer: 1 << 26 });
    const [there, here] = [JSON.parse(stdout) as unknown[], await replayCases()];
    assert.ok(here.length > cases.length * 2);
    assert.equal(there.length, here.length);
    for (const [i, outcome] of here.entries())
      assert.deepEqual(there[i], JSON.parse(JSON.stringify(outcome)), outcome.name);
  },
);
