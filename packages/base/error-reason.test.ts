import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { errorReason } from './error-reason.ts';

test('system errors get plain words, other errors keep their message', async () => {
  const reasonFor = (file: string): Promise<string> =>
    readFile(file).then(
      () => '',
      (error: unknown) => errorReason(error),
    );
  assert.equal(await reasonFor('/nowhere/at/all'), 'no such file or folder');
  assert.equal(await reasonFor('/'), 'it is a folder');
  assert.equal(await reasonFor('/etc/passwd/x'), 'not a directory');
  assert.equal(errorReason(new Error('odd')), 'odd');
  assert.equal(errorReason('odd'), 'odd');
});
