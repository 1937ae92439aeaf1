import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRedact } from './redact.ts';

const secret = 'Zx9-opaque_SECRET.value/with+more';

test('a secret is removed from a text: complete, cut at either end, encoded, repeated', () => {
  const redact = createRedact(['', secret]);
  assert.equal(redact(`got ${secret}, yes ${secret}`), 'got …, yes …');
  assert.equal(redact(`cut ${secret.slice(0, 12)}`), 'cut …');
  assert.equal(redact(`end ${secret.slice(9)} here`), 'end … here');
  assert.equal(redact(`?authz=${encodeURIComponent(secret)}&x`), '?authz=…&x');
  assert.equal(redact('nothing of it: Zx9-opa'), 'nothing of it: Zx9-opa');
  for (const before of ['', 'B', 'Bearer '])
    for (const how of ['base64', 'base64url'] as const) {
      const shown = redact(Buffer.from(before + secret + '!').toString(how));
      assert.ok(shown.length < 30, shown);
    }
});

test('a short secret is removed only as a whole, and without secrets a text is unchanged', () => {
  assert.equal(createRedact(['ab1'])('x ab1 y'), 'x … y');
  assert.equal(createRedact([])('x ab1 y'), 'x ab1 y');
});
