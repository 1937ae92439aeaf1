import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { makeClaim, readClaim } from './claim.ts';

test('exactly one of many concurrent claims wins, and stays', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'claim-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  assert.equal(await readClaim(folder), undefined);
  const claims = Array.from({ length: 20 }, (_, pid) => ({ pid, start: 'boot/1', host: 'h' }));
  const made = await Promise.all(claims.map((claim) => makeClaim(folder, claim)));
  assert.equal(made.filter(Boolean).length, 1);
  assert.deepEqual(await readClaim(folder), claims[made.indexOf(true)]);
  assert.equal(await makeClaim(folder, { void: 'too late' }), false);
  assert.deepEqual(await readdir(folder), ['claim']);
});
