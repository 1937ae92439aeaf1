import assert from 'node:assert/strict';
import { test } from 'node:test';
import { safeUrl } from './safe-url.ts';

test('what gives access is not shown', () => {
  assert.equal(safeUrl('https://me:secret@host:8443/a?x=1'), 'https://host:8443/a?x=1');
  assert.equal(safeUrl('https://host/a?authz=Bearer%20abc&x=1#f'), 'https://host/a?authz=...&x=1#f');
  assert.equal(safeUrl('https://host/a?x=1&access_token=abc'), 'https://host/a?x=1&access_token=...');
});

test('other URLs stay as they are', () => {
  for (const url of ['osdf:///ns/a@b.tar', 'pelican://host/ns/x', 'file:///data/a b'])
    assert.equal(safeUrl(url), url);
});
