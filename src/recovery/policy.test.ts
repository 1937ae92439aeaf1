import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCurrentNames } from './policy.ts';

test('a policy that an earlier version wrote has the names of this one', () => {
  const pace = { firstWait: 300, mostWait: 3600, atOnce: 2, letGo: 1800 };
  const backoff = { initialBackoff: 300, maxBackoff: 3600, immediateRetries: 2, forgetAfter: 1800 };
  const written = { attempts: 5, avoid: 'site', memory: { asked: 1, most: 4 }, sites: ['A'] };
  assert.deepEqual(withCurrentNames({ ...written, pace }), { ...written, backoff });
  assert.deepEqual(withCurrentNames({ ...written, backoff }), { ...written, backoff });
});
