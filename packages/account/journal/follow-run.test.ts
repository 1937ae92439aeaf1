import assert from 'node:assert/strict';
import { copyFile, cp, rename } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { growingRun } from '../../../test/growing-run.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { systemClock } from '@updraft/base';
import { Fault } from '../fault/fault.ts';
import { followRun, loadRun } from './load-run.ts';
import type { RunState } from './state.ts';

const follow = (folder: string, signal?: AbortSignal) =>
  followRun(folder, signal === undefined ? { clock: systemClock } : { clock: systemClock, signal });

test('a follower sees each change and ends with the run, in the same state as loading it', async (t) => {
  const growing = await growingRun(t, await temporaryFolder(t), ['0000', '0001']);
  const states: RunState[] = [];
  const seen = (async () => {
    for await (const state of follow(growing.folder)) states.push(state);
  })();
  await growing.succeed('0000');
  await growing.succeed('0001');
  await seen;
  assert.equal(states[0]?.endedAt, undefined);
  assert.deepEqual(states.at(-1), await loadRun(growing.folder));
});

test('following an ended run yields one state', async (t) => {
  const growing = await growingRun(t, await temporaryFolder(t), ['0000']);
  await growing.succeed('0000');
  const states = await Array.fromAsync(follow(growing.folder));
  assert.deepEqual(states, [await loadRun(growing.folder)]);
});

test('an attempt that started before the follower is counted once', async (t) => {
  const growing = await growingRun(t, await temporaryFolder(t), ['0000']);
  await growing.run({ kind: 'attempt-started', job: '0000', attempt: 1, why: '' });
  await growing.agent('0000', 1, { kind: 'output', path: 'a', bytes: 1, sha256: '' });
  const following = follow(growing.folder);
  await following.next();
  await growing.agent('0000', 1, { kind: 'output', path: 'b', bytes: 1, sha256: '' });
  const { value } = await following.next();
  assert.deepEqual(
    value?.jobs[0]?.attempts[0]?.agent?.outputs.map(({ path: output }) => output),
    ['a', 'b'],
  );
  await following.return();
});

test("an agent's journal that is replaced by a later copy of itself is not counted twice", async (t) => {
  const growing = await growingRun(t, await temporaryFolder(t), ['0000']);
  await growing.run({ kind: 'attempt-started', job: '0000', attempt: 1, why: '' });
  await growing.agent('0000', 1, { kind: 'output', path: 'a', bytes: 1, sha256: '' });
  const following = follow(growing.folder);
  await following.next();
  const journal = path.join(growing.folder, 'jobs/0000/attempt-1/agent.jsonl');
  await copyFile(journal, `${journal}.new`);
  await rename(`${journal}.new`, journal);
  const { value } = await following.next();
  assert.equal(value?.jobs[0]?.attempts[0]?.agent?.outputs.length, 1);
  await following.return();
});

test('following throws the reason of the signal', async (t) => {
  const growing = await growingRun(t, await temporaryFolder(t), ['0000']);
  const stop = new AbortController();
  const following = follow(growing.folder, stop.signal);
  await following.next();
  const next = following.next();
  stop.abort(new Fault('interrupted', 'enough'));
  await assert.rejects(next, { message: 'enough' });
});

test('a folder without a journal is not a run, and the message says so', async (t) => {
  const folder = await temporaryFolder(t);
  for (const attempt of [() => loadRun(folder), () => follow(folder).next()])
    await assert.rejects(attempt, (thrown) => thrown instanceof Fault && thrown.message.includes(folder));
});

test('a copy of the folder has the same state', async (t) => {
  const parent = await temporaryFolder(t);
  const growing = await growingRun(t, parent, ['0000']);
  await growing.succeed('0000');
  const copy = path.join(parent, 'copy');
  await cp(growing.folder, copy, { recursive: true, preserveTimestamps: true });
  const withoutTimes = (state: RunState) =>
    JSON.stringify(state, (key, value: unknown) => (key === 'heardAt' ? undefined : value));
  assert.equal(withoutTimes(await loadRun(copy)), withoutTimes(await loadRun(growing.folder)));
});
