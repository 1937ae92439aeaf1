import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { type Clock, systemClock } from './clock.ts';
import { waitForChange } from './wait-for-change.ts';

/** A clock on which no time passes: only a change or the signal can end a wait. */
const still: Clock = {
  ...systemClock,
  sleep: (_ms, signal) =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    }),
};

test('a change of the file ends the wait', async (t) => {
  const folder = await temporaryFolder(t, { log: '' });
  const file = path.join(folder, 'log');
  const waiting = waitForChange([file], 1000, still);
  await appendFile(file, 'x');
  await waiting;
});

test('for a missing file, only the clock ends the wait', async () => {
  await waitForChange(['/nonexistent/file'], 1, systemClock);
});

test('the signal ends the wait with its reason', async () => {
  const stop = new AbortController();
  const waiting = waitForChange([], 1000, still, stop.signal);
  stop.abort(new Error('enough'));
  await assert.rejects(waiting, { message: 'enough' });
});
