import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastClock } from '../../../test/fast-clock.ts';
import { firstAnswer, raceWidth } from './connections.ts';

/** Servers by what they do: `silent`, `no` after a moment, `slow` for ten seconds, `good`. */
async function race(...servers: string[]) {
  const clock = fastClock(50);
  const start = clock.monotonic();
  const asked: number[] = [];
  const aborted: string[] = [];
  const found = await firstAnswer(
    servers,
    async (server, { signal }) => {
      asked.push(clock.monotonic() - start);
      try {
        if (server === 'silent') await clock.sleep(60_000, signal);
        if (server.startsWith('slow')) await clock.sleep(10_000, signal);
        if (server === 'broken') throw new Error('broken');
      } catch (error) {
        aborted.push(server);
        throw error;
      }
      return server === 'no' || server === 'silent' ? undefined : server;
    },
    { federation: { wire: { clock } } },
  );
  return { found, asked, aborted, ms: clock.monotonic() - start };
}

test('a silent server delays the next one by two seconds, and its request ends when another answers', async () => {
  const { found, asked, aborted, ms } = await race('silent', 'no', 'good', 'never asked');
  assert.equal(found, 'good');
  assert.equal(asked.length, 3);
  assert.ok((asked[1] ?? 0) >= 2_000 && ms < 4_000, String(ms));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(aborted, ['silent']);
});

test('a slow server wins if those that were asked meanwhile know nothing', async () => {
  assert.equal((await race('slow', 'no', 'no')).found, 'slow');
  assert.equal((await race('slow one', 'slow other')).found, 'slow one');
  assert.equal((await race('no', 'no')).found, undefined);
  assert.equal((await race()).found, undefined);
  await assert.rejects(race('silent', 'broken', 'good'), /broken/);
});

test('never more than twenty servers are asked at once, one of them at first', () => {
  const seconds = [0, 1.9, 2, 3, 7.9, 8, 30, 600];
  assert.deepEqual(
    seconds.map((silent) => raceWidth(silent * 1000)),
    [1, 1, 2, 4, 13, 14, 20, 20],
  );
});
