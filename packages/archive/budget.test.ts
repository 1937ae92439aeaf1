import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Budget, defaultUnpackLimits } from './budget.ts';

test('a large surplus stops the unpacking; a small one may still be replaced by later entries', () => {
  const bytes = new Budget('a.tar', { bytes: 1e9 }, defaultUnpackLimits);
  bytes.addBytes(2e9);
  assert.throws(() => bytes.addBytes(1e9), {
    kind: 'data-unexpected',
    message: 'a.tar: holds more than 2,000,000,000 bytes, expected 1,000,000,000',
  });
  const files = new Budget('a.tar', { files: 5 }, defaultUnpackLimits);
  for (let file = 0; file < 1000; file++) files.addFile();
  assert.throws(() => files.settle(), { message: 'a.tar: holds 1,000 files, expected 5' });
  assert.throws(() => {
    for (let file = 0; file < 1000; file++) files.addFile();
  }, /holds more than 10 files, expected 5/);
});

test('entries that replace earlier ones do not count twice', () => {
  const budget = new Budget('a.tar', { files: 1, bytes: 10 }, defaultUnpackLimits);
  for (let time = 0; time < 3; time++) {
    budget.addFile();
    budget.addBytes(10);
    if (time < 2) budget.removeFile(10);
  }
  budget.settle();
});

test('space freed meanwhile counts; a file too big for the disk is refused before it is written', () => {
  let free = 100;
  const budget = new Budget('a.tar', {}, defaultUnpackLimits, () => free);
  budget.addFile(90);
  budget.addBytes(90);
  free = 60;
  budget.addFile(60);
  budget.addBytes(60);
  free = 0;
  assert.throws(() => budget.addFile(1), {
    kind: 'disk-full',
    message: 'a.tar: needs at least 151 bytes unpacked, but the disk had 150 free',
  });
});
