import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitsFromEnv } from './limits.ts';

test('UPDRAFT_STALL_SECONDS sets the timeout of a silent server, if it is a number of seconds', () => {
  assert.deepEqual(limitsFromEnv({ UPDRAFT_STALL_SECONDS: '2.5' }), { stallSeconds: 2.5 });
  for (const said of [undefined, '', '0', '-3', 'soon'])
    assert.deepEqual(limitsFromEnv({ UPDRAFT_STALL_SECONDS: said }), {});
});
