import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LinkCheck } from './safe-link.ts';

const wrong = (path: string, links: Record<string, string>): string | undefined =>
  new LinkCheck(new Map(Object.entries(links))).whatIsWrong(path);

test('links that stay inside are right, also up, to nothing and over others', () => {
  assert.equal(wrong('a', { a: 'b/c' }), undefined);
  assert.equal(wrong('d/a', { 'd/a': '../b' }), undefined);
  assert.equal(wrong('d/e/a', { 'd/e/a': '../../x/../y' }), undefined);
  assert.equal(wrong('a', { a: 'b/x', b: 'c', c: 'd/e' }), undefined);
});

test('links out of the folder are wrong, by themselves or through others', () => {
  assert.match(wrong('a', { a: '..' }) ?? '', /leads out/);
  assert.match(wrong('a', { a: '/etc' }) ?? '', /absolute/);
  assert.match(wrong('a', { a: 'd/l/..', 'd/l': '..' }) ?? '', /leads out/);
  assert.match(wrong('a', { a: 'b', b: '/etc' }) ?? '', /absolute/);
  assert.match(wrong('a', { a: 'a/x' }) ?? '', /circle/);
  assert.match(wrong('a', { a: '' }) ?? '', /nowhere/);
});
