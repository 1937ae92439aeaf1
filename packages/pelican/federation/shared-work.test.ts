import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedWork } from './back-off.ts';

test('work without waiting callers is stopped, and later work starts fresh', async () => {
  const shared = new SharedWork<string>();
  const signals: AbortSignal[] = [];
  const endless = (signal: AbortSignal): Promise<string> => {
    signals.push(signal);
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  };
  const [one, other] = [new AbortController(), new AbortController()];
  const waiting = [shared.run('key', one.signal, endless), shared.run('key', other.signal, endless)];
  one.abort(new Error('first leaves'));
  await assert.rejects(waiting[0]!, /first leaves/);
  assert.equal(signals[0]?.aborted, false);
  other.abort(new Error('second leaves'));
  await assert.rejects(waiting[1]!, /second leaves/);
  assert.deepEqual([signals.length, signals[0].aborted], [1, true]);
  assert.equal(await shared.run('key', undefined, () => Promise.resolve('new')), 'new');
});

test('a failure is shared like a result, but not kept', async () => {
  const shared = new SharedWork<string>();
  const failing = (): Promise<string> => Promise.reject(new Error('no'));
  const results = await Promise.allSettled([
    shared.run('key', undefined, failing),
    shared.run('key', undefined, failing),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(await shared.run('key', undefined, () => Promise.resolve('yes')), 'yes');
});
