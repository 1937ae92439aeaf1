import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { joinSafe, parentOf, safePath, type SafePath } from './entry.ts';

test('empty and "." parts of a path are dropped', () => {
  assert.equal(safePath('./a//b/./c/', 'x.tar', 64), 'a/b/c');
  assert.equal(safePath('./', 'x.tar', 64), '');
});

test('a path that could leave its folder is refused', () => {
  for (const name of ['/a', '..', '../a', 'a/..', 'a/../b', 'C:/a', 'c:', '', 'a\0', 'é'.repeat(128)])
    assert.throws(() => safePath(name, 'x.tar', 64), { kind: 'archive-unsafe' }, JSON.stringify(name));
});

test('any accepted path stays inside the folder it is joined to', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', '..', '.', '', '\\', 'C:', '/'), { maxLength: 6 }), (parts) => {
      let path: SafePath;
      try {
        path = safePath(parts.join('/'), 'x.tar', 64);
      } catch {
        return;
      }
      const url = new URL(joinSafe('in' as SafePath, path).replaceAll('\\', '%5C'), 'file:///root/');
      assert.match(url.pathname, /^\/root\/in(\/|$)/);
    }),
    { seed: 1 },
  );
});

test('the root is its own parent', () => {
  assert.deepEqual(
    ['a/b/c', 'a', ''].map((path) => parentOf(path as SafePath)),
    ['a/b', '', ''],
  );
});
