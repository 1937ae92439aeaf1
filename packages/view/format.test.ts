import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAmount, formatMillis } from './format.ts';

test('a time has its two largest units, and tenths of a second below ten', () => {
  const shown = {
    0: '0.0s',
    940: '0.9s',
    9949: '9.9s',
    9950: '10s',
    59_499: '59s',
    59_500: '1m00s',
    155_000: '2m35s',
    3_599_600: '1h00m',
    11_100_000: '3h05m',
    90_000_000: '1d01h',
  };
  for (const [millis, text] of Object.entries(shown)) assert.equal(formatMillis(Number(millis)), text);
});

test('amounts are written as in submit files', () => {
  assert.equal(formatAmount(2_097_152, 'KB'), '2 GB');
  assert.equal(formatAmount(1500, 'MB'), '1.5 GB');
  assert.equal(formatAmount(287, 'MB'), '287 MB');
  assert.equal(formatAmount(0.126, null), '0.13');
  assert.equal(formatAmount(3, 'Gpus'), '3 Gpus');
});
