import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readQuota } from './ask-here.ts';

const output = `Disk quotas for user ada (uid 1000):
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
      /dev/sda1    8000   10000   12000            7000       0   10000
  nfs:/export/a   12001*  10000   12000   6days       5       0       0
      /dev/sdb1     500       0       0              12       0       0
`;

test('a quota has what is left of its blocks and files', () => {
  const name = 'your quota on /dev/sda1';
  assert.deepEqual(readQuota(output, '/dev/sda1'), { name, freeBytes: 4000 * 1024, freeFiles: 3000 });
});

test('an exceeded quota has nothing left, and its grace time is no figure', () => {
  const name = 'your quota on nfs:/export/a';
  assert.deepEqual(readQuota(output, 'nfs:/export/a'), { name, freeBytes: 0 });
});

test('without limits, or without a line, there is no quota', () => {
  for (const source of ['/dev/sdb1', '/dev/sdc1', '']) assert.equal(readQuota(output, source), undefined);
});
