import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObjectFact, ServerFact } from '../facts.ts';
import { applyRules } from '@updraft/base';
import { objectRules } from './objects.ts';

const cache = (n: number, more: Partial<ServerFact> = {}): ServerFact => ({
  host: `cache-${n}:8443`,
  kind: 'cache',
  status: 200,
  bytes: 100,
  digests: { md5: 'aa' },
  ...more,
});
const origin = (more: Partial<ServerFact> = {}): ServerFact => ({
  ...cache(0, more),
  host: 'origin:8443',
  kind: 'origin',
});

function found(servers: ServerFact[], more: Partial<ObjectFact> = {}) {
  const place = { file: 'updraft.toml', line: 9 };
  const object: ObjectFact = {
    label: 'data.train',
    url: 'osdf:///a/b/train.tar',
    place,
    servers,
    declared: { bytes: 100 },
    isProven: true,
    ...more,
  };
  return applyRules(objectRules, { objects: [object] });
}
const rules = (...args: Parameters<typeof found>): string[] => found(...args).map(({ rule }) => rule);

test('an object that is the same on all servers is no finding', () => {
  assert.deepEqual(rules([cache(1), cache(2), origin()]), []);
});

test("an object that the origin does not have is an error with every server's answer", () => {
  const [only] = found([cache(1, { status: 404 }), cache(2, { status: 504 }), origin({ status: 404 })]);
  assert.deepEqual([only?.rule, only?.level, only?.line], ['object-missing', 'error', 9]);
  assert.match(only?.message ?? '', /cache cache-1:8443 404, cache cache-2:8443 504, origin origin:8443 404/);
  assert.equal(only?.fix, 'check the spelling: updraft ls osdf:///a/b');
});

test('a 404 only from caches is no finding while the origin does not answer', () => {
  const silent: ServerFact = { host: 'origin:8443', kind: 'origin' };
  assert.deepEqual(rules([cache(1, { status: 404 }), silent]), []);
  assert.deepEqual(rules([cache(1, { status: 404 }), cache(2, { status: 404 })]), ['object-missing']);
});

test('a cache that lacks the object is a warning that names it', () => {
  const [only, ...others] = found([cache(1), cache(2, { status: 404 }), origin()]);
  assert.deepEqual([only?.rule, only?.level, others.length], ['servers-differ', 'warning', 0]);
  assert.match(only?.message ?? '', /but cache cache-2:8443 answers 404$/);
});

test('a cache with a different size, or different bytes of the same size, is named', () => {
  assert.match(
    found([cache(1, { bytes: 90 }), cache(2), origin()])[0]?.message ?? '',
    /cache-1:8443 has 90 bytes$/,
  );
  const other = found([cache(1), cache(2, { digests: { md5: 'bb' } }), origin()]);
  assert.match(
    other[0]?.message ?? '',
    /cache-2:8443 has different content of the same size \(md5 differs\)$/,
  );
});

test('without a declared size the origin is trusted, not the first cache', () => {
  const [only] = found([cache(1, { bytes: 90 }), origin()], { declared: {}, isProven: true });
  assert.match(only?.message ?? '', /origin origin:8443 has 100 bytes, but cache cache-1:8443 has 90 bytes$/);
});

test('servers that are busy or down are not reported as different', () => {
  assert.deepEqual(rules([cache(1), cache(2, { status: 503 }), { host: 'x', kind: 'cache' }, origin()]), []);
});

test('an object that no server has as declared is an error with both values', () => {
  const [only, ...others] = found([cache(1, { bytes: 90 }), origin({ bytes: 90 })]);
  assert.deepEqual([only?.rule, others.length], ['object-not-as-declared', 0]);
  assert.match(only?.message ?? '', /has 90 bytes \(90 B\), but the job file says 100/);
  const digests = { sha256: 'f'.repeat(64) };
  const declared = { sha256: '0'.repeat(64), by: 'its manifest' };
  assert.match(
    found([origin({ digests }), cache(1, { digests })], { declared })[0]?.message ?? '',
    /its manifest says 0{12}…/,
  );
});

test('a folder instead of an object is an error', () => {});

test('an object on a single server is a note, unless it is a plain web server', () => {
  assert.deepEqual(rules([cache(1), { host: 'cache-2', kind: 'cache' }]), []);
  const plain: ServerFact = { host: 'www.example.org', kind: 'plain', status: 200, bytes: 100 };
  assert.deepEqual(rules([plain], { url: 'https://www.example.org/x.tar' }), []);
});

test('an object that nothing verifies is a note with the line to add', () => {
  const [only] = found([cache(1), origin()], { declared: {}, isProven: false });
  assert.deepEqual([only?.rule, only?.level], ['unproven', 'note']);
  assert.match(only?.fix ?? '', /^add expect = \{ bytes = 100 \} to \[data\.train\]/);
});

test('a disk for shards that does not hold two is an error', () => {
  assert.deepEqual(rules([cache(1), origin()], { keep: { bytes: 2e9, largest: 1e9 } }), []);
  const [only] = found([cache(1), origin()], { keep: { bytes: 1.5e9, largest: 1e9 } });
  assert.deepEqual([only?.rule, only?.level], ['keep-too-small', 'error']);
  assert.match(only?.fix ?? '', /^set keep = "8 GB"/);
});
