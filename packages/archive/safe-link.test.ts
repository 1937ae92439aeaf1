import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LinkCheck } from './file-writer.ts';

const wrong = (path: string, links: Record<string, string>): string | undefined =>
  new LinkCheck(new Map(Object.entries(links)), (folder) => folder === 'd/l' || folder === 'x').problemWith(
    path,
  );

test('links that stay inside are accepted: upwards, dangling or through other links', () => {
  assert.equal(wrong('a', { a: 'b/c' }), undefined);
  assert.equal(wrong('d/a', { 'd/a': '../b' }), undefined);
  assert.equal(wrong('d/e/a', { 'd/e/a': '../../x/../y' }), undefined);
  assert.equal(wrong('a', { a: 'b/x', b: 'c', c: 'd/e' }), undefined);
});

test('links out of the folder are refused, directly or through other links', () => {
  assert.match(wrong('a', { a: '..' }) ?? '', /leads out/);
  assert.match(wrong('a', { a: '/etc' }) ?? '', /absolute/);
  assert.match(wrong('a', { a: 'd/l/..', 'd/l': '..' }) ?? '', /leads out/);
  assert.match(wrong('a', { a: 'b', b: '/etc' }) ?? '', /absolute/);
  assert.match(wrong('a', { a: 'a/x' }) ?? '', /circle/);
  assert.match(wrong('a', { a: '' }) ?? '', /nowhere/);
});

test('a ".." after a name needs an existing folder, since a later archive may add a link of that name', () => {
  assert.match(wrong('a', { a: 'd/later/../b' }) ?? '', /leads through "d\/later", which is not a folder/);
  assert.equal(wrong('a', { a: 'd/l/../b' }), undefined);
  assert.match(wrong('a', { a: 'e/..', e: 'f/later' }) ?? '', /leads through "f\/later"/);
});

test('100,000 links to the end of a chain are followed once each', () => {
  const chain = Array.from({ length: 39 }, (_, i): [string, string] => [
    `c${i}`,
    `./${'x/../'.repeat(20)}c${i + 1}`,
  ]);
  const many = Array.from({ length: 100_000 }, (_, i): [string, string] => [`l${i}`, 'c0']);
  class Counted extends Map<string, string> {
    gets = 0;
    override get(key: string): string | undefined {
      this.gets++;
      return super.get(key);
    }
  }
  const links = new Counted([...chain, ...many]);
  const check = new LinkCheck(links, () => true);
  for (const [link] of many) assert.match(check.problemWith(link) ?? '', /^$|circle/);
  assert.ok(links.gets < 300_000, `${links.gets}`);
});

test('links with excessively long paths are refused before they cost much time', () => {
  const long = Array.from({ length: 2000 }, (_, i): [string, string] => [`l${i}`, 'aaaa/'.repeat(800)]);
  const check = new LinkCheck(new Map(long), () => true);
  assert.match(
    long.map(([link]) => check.problemWith(link) ?? '').find((wrong) => wrong !== '') ?? '',
    /too long to check/,
  );
});
