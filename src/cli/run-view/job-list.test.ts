import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldSimilar } from '../commands/status.ts';
import { jobList } from '../text/phrases.ts';

test('consecutive jobs are listed by the first and the last', () => {
  assert.equal(jobList(['0003']), '0003');
  assert.equal(jobList(['0003', '0004', '0007']), '0003, 0004, 0007');
  assert.equal(
    jobList(['0001', '0003', '0004', '0005', '9999', '10000', '10001']),
    '0001, 0003 to 0005, 9999 to 10001',
  );
});

test('of many scattered jobs some are named and the rest are counted', () => {
  const odd = Array.from({ length: 20 }, (_, index) => String(2 * index + 1).padStart(4, '0'));
  assert.match(jobList(odd), /^0001, 0003, .*, 0015 and 12 more$/);
  assert.equal(jobList(['12.0', '12.1', '12.2']), '12.0, 12.1, 12.2');
});

test('neighbouring rows that differ only in name become one, and other rows stay', () => {
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
