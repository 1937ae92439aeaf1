import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { abortable } from './map-limited.ts';

const never = new Promise<string>(() => undefined);

test('a promise is not waited for once the signal has aborted', async () => {
  const stop = new AbortController();
  const waiting = abortable(never, stop.signal);
  stop.abort(new Error('enough'));
  await assert.rejects(waiting, /enough/);
  await assert.rejects(abortable(never, stop.signal), /enough/);
});

test('otherwise it settles as the promise does, and leaves no listener on the signal', async () => {
  const { signal } = new AbortController();
  assert.equal(await abortable(Promise.resolve('done'), signal), 'done');
  await assert.rejects(abortable(Promise.reject(new Error('broken')), signal), /broken/);
  assert.equal(await abortable(Promise.resolve('done'), undefined), 'done');
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});
