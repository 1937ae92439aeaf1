import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldSimilar } from '../commands/status.ts';
import { jobList } from '../text/phrases.ts';

test('neighbours are told by the first and the last of them', () => {
  assert.equal(jobList(['0003']), '0003');
  assert.equal(jobList(['0003', '0004', '0007']), '0003, 0004, 0007');
  assert.equal(
    jobList(['0001', '0003', '0004', '0005', '9999', '10000', '10001']),
    '0001, 0003 to 0005, 9999 to 10001',
  );
});

test('of many that are no neighbours some are named and the rest is counted', () => {
  const odd = Array.from({ length: 20 }, (_, index) => String(2 * index + 1).padStart(4, '0'));
  assert.match(jobList(odd), /^0001, 0003, .*, 0015 and 12 more$/);
  assert.equal(jobList(['12.0', '12.1', '12.2']), '12.0, 12.1, 12.2');
});

test('neighbours that differ in their name alone are one row, and no other row is touched', () => {
  assert.deepEqual(
    foldSimilar([
      ['0000', '1', 'running'],
      ['0001', '', 'waiting'],
      ['0002', '', 'waiting'],
      ['0003', '', 'waiting'],
      ['0004', '1', 'running'],
      ['0005', '', 'waiting'],
    ]),
    [
      ['0000', '1', 'running'],
      ['0001 to 0003', '', 'waiting'],
      ['0004', '1', 'running'],
      ['0005', '', 'waiting'],
    ],
  );
  assert.deepEqual(foldSimilar([]), []);
});
