import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldAlike } from '../commands/status.ts';

test('neighbours that differ in their name alone are one row, and no other row is touched', () => {
  assert.deepEqual(
    foldAlike([
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
  assert.deepEqual(foldAlike([]), []);
});
