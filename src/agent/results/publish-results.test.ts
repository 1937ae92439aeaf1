import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Attempt } from '../attempt.ts';
import { publishResults } from './outputs.ts';

function makeAttempt(t: TestContext, stop: AbortController): { attempt: Attempt; results: string } {
  const base = mkdtempSync(path.join(os.tmpdir(), 'updraft-publish-'));
  t.after(() => rmSync(base, { recursive: true }));
  const work = path.join(base, 'work');
  mkdirSync(work);
  for (const name of ['a.pt', 'b.pt']) writeFileSync(path.join(work, name), `new ${name}`);
  const results = path.join(base, 'results');
  const order = {
    run: 'r',
    job: { id: '0000', train: { outputs: ['a.pt', 'b.pt'] } },
    attempt: 2,
    resultsTo: path.join(results, '0000'),
  };
  // Stopped just after the first output was copied: the worst moment.
  const record = (): void => stop.abort(new Error('stopped'));
  return { attempt: { order, scratch: { work }, record } as unknown as Attempt, results };
}

test('publishing that is stopped halfway leaves the earlier results untouched', async (t) => {
  const stop = new AbortController();
  const { attempt, results } = makeAttempt(t, stop);
  mkdirSync(path.join(results, '0000'), { recursive: true });
  writeFileSync(path.join(results, '0000', 'a.pt'), 'old');
  writeFileSync(path.join(results, '0000', '.updraft.json'), '{"run":"r","job":"0000","attempt":1}');
  await assert.rejects(publishResults(attempt, 'code', stop.signal), /stopped/);
  assert.deepEqual(readdirSync(results), ['0000']);
  assert.deepEqual(readdirSync(path.join(results, '0000')).sort(), ['.updraft.json', 'a.pt']);
  assert.equal(readFileSync(path.join(results, '0000', 'a.pt'), 'utf8'), 'old');
});

test('new results replace all earlier ones', async (t) => {
  const { attempt, results } = makeAttempt(t, new AbortController());
  mkdirSync(path.join(results, '0000'), { recursive: true });
  writeFileSync(path.join(results, '0000', 'stale.pt'), 'old');
  writeFileSync(path.join(results, '0000', '.updraft.json'), '{"run":"r","job":"0000","attempt":1}');
  await publishResults(attempt, 'code', new AbortController().signal);
  assert.deepEqual(readdirSync(results), ['0000']);
  assert.deepEqual(readdirSync(path.join(results, '0000')).sort(), ['.updraft.json', 'a.pt', 'b.pt']);
});
