import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptHistory, CacheShare, JobHistory } from '../history/history.ts';
import { cacheSiteReports } from './cache-reports.ts';

const share = (name: string, more: Partial<CacheShare>): CacheShare => ({
  ...{ name, bytes: 100, seconds: 10, setbacks: 0 },
  ...more,
});
const at = (site: string, ...caches: CacheShare[]) => ({ site, machine: 'm', caches }) as AttemptHistory;

test('each cache and site has its bytes, its rate, its failures, and how much was cold', () => {
  const attempts = [
    at('North', share('near', { coldBytes: 100 })),
    at(
      'North',
      share('near', { warmBytes: 300, bytes: 300 }),
      share('far', { bytes: 0, seconds: 0, setbacks: 2 }),
    ),
    at('South', share('far', { bytes: 50 }), share('never', { bytes: 0, seconds: 0 })),
  ];
  const pairs = cacheSiteReports(
    attempts.map((attempt) => ({ attempts: [attempt] }) as unknown as JobHistory),
  );
  assert.deepEqual(
    pairs.map(({ name, site, fetches, bytes, bytesPerSecond, setbacks, coldShare }) =>
      [name, site, fetches, bytes, bytesPerSecond, setbacks, coldShare].join(' '),
    ),
    ['near North 2 400 20 0 0.25', 'far South 1 50 5 0 ', 'far North 0 0  2 '],
  );
});
