import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatDuration, formatSize, parseDuration, parseSize } from './units.ts';

test('sizes are read with decimal and binary units, spaces and any case', () => {
  assert.equal(parseSize('16 GB'), 16e9);
  assert.equal(parseSize('512MB'), 512e6);
  assert.equal(parseSize('1.5 TiB'), 1.5 * 2 ** 40);
  assert.equal(parseSize('16 gib'), 16 * 2 ** 30);
  assert.equal(parseSize(' 10 kB '), 10_000);
  assert.equal(parseSize('7 B'), 7);
});

test('a size without a valid unit is refused', () => {
  for (const text of [
    '16',
    '',
    'GB',
    '16 G',
    '-1 GB',
    '1e3 GB',
    '16 GX',
    '16 GB 2 MB',
    '1.2.3 GB',
    '9999999 PB',
  ])
    assert.equal(parseSize(text), undefined, text);
});

test('durations are read with one unit or several', () => {
  assert.equal(parseDuration('90s'), 90);
  assert.equal(parseDuration('10h'), 36_000);
  assert.equal(parseDuration('1h30m'), 5400);
  assert.equal(parseDuration('2d'), 172_800);
  assert.equal(parseDuration('1.5 h'), 5400);
  assert.equal(parseDuration('1h 30m'), 5400);
});

test('a duration without a valid unit is refused', () => {
  for (const text of ['90', '', 'h', '-1h', '1y', '10 hours', '1h30', 'h1'])
    assert.equal(parseDuration(text), undefined, text);
});

test('a formatted duration parses to the same number of seconds', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1e9 }), (seconds) => {
      assert.equal(parseDuration(formatDuration(seconds)), seconds);
    }),
  );
});

test('a formatted size parses within its precision', () => {
  assert.equal(formatSize(1_500_000_000), '1.5 GB');
  assert.equal(formatSize(999), '999 B');
  assert.equal(formatSize(999_950), '1 MB');
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e15 }), (bytes) => {
      const back = parseSize(formatSize(bytes));
      assert.ok(
        back !== undefined && Math.abs(back - bytes) / bytes < 0.051,
        `${bytes} -> ${formatSize(bytes)}`,
      );
    }),
  );
});
