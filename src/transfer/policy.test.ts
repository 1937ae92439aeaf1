import assert from 'node:assert/strict';
import { test } from 'node:test';
import { policyFrom } from './policy.ts';

test('UPDRAFT_STALL_SECONDS sets the time-out of a silent server, if it is a number of seconds', () => {
  assert.deepEqual(policyFrom({ UPDRAFT_STALL_SECONDS: '2.5' }), { stallSeconds: 2.5 });
  for (const said of [undefined, '', '0', '-3', 'soon'])
    assert.deepEqual(policyFrom({ UPDRAFT_STALL_SECONDS: said }), {});
});
