import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptHistory, JobHistory } from '../history/history.ts';
import { groupingOf, variedParameters } from './groupings.ts';

const cache = { name: 'c', bytes: 10, seconds: 1, setbacks: 0 };
const attempt = (...caches: AttemptHistory['caches'] & object): AttemptHistory =>
  ({ caches, spans: [] }) as unknown as AttemptHistory;

test('attempts are cold or warm by what caches had of most of their data', () => {
  const key = groupingOf('warmth', []).key([], []);
  assert.ok('attempt' in key);
  const warmthOf = (one: AttemptHistory) => key.attempt(one, {} as JobHistory);
  assert.equal(warmthOf(attempt({ ...cache, warmBytes: 9, coldBytes: 1 })), 'warm');
  assert.equal(warmthOf(attempt({ ...cache, warmBytes: 4 }, { ...cache, coldBytes: 6 })), 'cold');
  assert.equal(warmthOf(attempt(cache)), undefined);
});

test('cells of a group are compared by the parameter that distinguishes them', () => {
  const job = (parameters: Record<string, string | number>) =>
    ({ trained: { parameters } }) as unknown as JobHistory;
  const jobs = ['osdf', 'https'].flatMap((method) =>
    [1, 2].map((seed) => job({ url: `${method}://example.org/a/long/path.tar`, method, seed })),
  );
  assert.deepEqual(variedParameters(jobs), ['method']);
  assert.equal(groupingOf('parameters', jobs).title, 'method');
  assert.equal(groupingOf('site, parameter', jobs).title, 'site, method');
  assert.throws(() => groupingOf('parameter', []), /nothing to group by is called "parameter"/);
});
