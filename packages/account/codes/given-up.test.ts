import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseGivenUp, formatGivenUp } from './given-up.ts';

test('servers that were given up survive the way through the reason of a hold', () => {
  const said = formatGivenUp(['cache-1.example:8443', 'origin', 'cache-1.example:8443']);
  assert.deepEqual(parseGivenUp(`Details: osdf:///a: it stalled${said} (updraft 1.2.3, host h)|`), [
    { server: 'cache-1.example:8443', times: 2 },
    { server: 'origin', times: 1 },
  ]);
  assert.deepEqual([formatGivenUp([]), parseGivenUp('Details: 404; gave up hope')], ['', []]);
});
