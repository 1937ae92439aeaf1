import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { eventually, RunHarness } from './run-harness.ts';

test('the command of on_end runs once per end, and knows how the run ended', async (t) => {
  const harness = await RunHarness.make(t);
  const note = 'echo \\"$UPDRAFT_STATE $UPDRAFT_SUCCEEDED $UPDRAFT_FAILED\\" >> ended.txt';
  await harness.describe('test -e ok && echo 1 > model.pt', `attempts = 1\njobs = 2\non_end = "${note}"`);
  const { code } = await harness.updraft('run');
  assert.equal(code, 1);
  const ended = path.join(harness.folder, 'ended.txt');
  const lines = async (): Promise<string> => await readFile(ended, 'utf8').catch(() => '');
  await eventually(async () => (await lines()) !== '');
  await harness.updraft('watch');
  assert.equal(await lines(), 'failed 0 2\n', 'once, whoever sees the end');
});

test('a failing command of on_end is reported, and changes nothing else', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('echo 1 > model.pt', 'on_end = "echo no mail here; exit 7"');
  const { code } = await harness.updraft('run');
  assert.equal(code, 0);
  const [run = ''] = await harness.runs();
  await eventually(async () => /no mail here/.test(await readFile(path.join(run, 'on-end-1.log'), 'utf8')));
});
