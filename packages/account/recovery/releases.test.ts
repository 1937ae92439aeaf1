import assert from 'node:assert/strict';
import { test } from 'node:test';
import { willRelease } from './releases.ts';
import type { Policy } from './policy.ts';

const policy: Policy = {
  attempts: 5,
  avoid: 'site',
  giveUpSeconds: 1000,
  memory: { asked: 1, most: 1 },
  disk: { asked: 1, most: 1 },
  backoff: { initialBackoff: 300, maxBackoff: 3600, immediateRetries: 2, forgetAfter: 600 },
};

test('a hold that would end after give_up_after is never released', () => {
  assert.equal(
    willRelease(policy, { code: 13, subcode: 256, reason: '' }, { failures: 1, ranOut: 0, heldAfter: 699 }),
    true,
  );
  assert.equal(
    willRelease(policy, { code: 13, subcode: 256, reason: '' }, { failures: 1, ranOut: 0, heldAfter: 701 }),
    false,
  );
  assert.equal(
    willRelease(policy, { code: 13, subcode: 256, reason: '' }, { failures: 2, ranOut: 0, heldAfter: 401 }),
    false,
  );
});

test('a bad machine is left without a wait', () => {
  assert.equal(
    willRelease(policy, { code: 19, subcode: 0, reason: '' }, { failures: 2, ranOut: 0, heldAfter: 999 }),
    true,
  );
  assert.equal(
    willRelease(policy, { code: 19, subcode: 0, reason: '' }, { failures: 3, ranOut: 0, heldAfter: 999 }),
    false,
  );
});
