import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFinalMissing } from './final-missing.ts';
import type { ObjectServer } from './located.ts';

const server = (name: string, kind: ObjectServer['kind'] = 'cache'): ObjectServer => ({
  url: `https://${name}/x`,
  host: name,
  kind,
});
const [a, b, origin] = [server('a'), server('b'), server('o', 'origin')];

test('one cache that says 404 does not make an object missing', () => {
  assert.equal(isFinalMissing([a, b], [{ server: a, status: 404 }]), false);
  assert.equal(
    isFinalMissing(
      [a, b],
      [
        { server: a, status: 404 },
        { server: b, status: undefined },
      ],
    ),
    false,
  );
  assert.equal(
    isFinalMissing(
      [a, b],
      [
        { server: a, status: 404 },
        { server: a, status: 404 },
      ],
    ),
    false,
  );
});

test('the origin, a plain server, or all caches together do', () => {
  assert.equal(
    isFinalMissing(
      [a, b],
      [
        { server: a, status: 404 },
        { server: b, status: 410 },
      ],
    ),
    true,
  );
  assert.equal(isFinalMissing([a, origin], [{ server: origin, status: 404 }]), true);
  assert.equal(isFinalMissing([a], [{ server: server('p', 'plain'), status: 404 }]), true);
});

test('no answer is no proof', () => {
  assert.equal(isFinalMissing([], []), false);
  assert.equal(isFinalMissing([a], [{ server: a, status: 403 }]), false);
});
