import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { errorReason } from './error-reason.ts';

test('what the system refuses is said in words, anything else as it was said', async () => {
  const reasonFor = (file: string): Promise<string> =>
    readFile(file).then(
      () => '',
      (error: unknown) => errorReason(error),
    );
  assert.equal(await reasonFor('/nowhere/at/all'), 'there is no such file or folder');
  assert.equal(await reasonFor('/'), 'it is a folder');
  assert.equal(await reasonFor('/etc/passwd/x'), 'a part of its path is no folder');
  assert.equal(errorReason(new Error('odd')), 'odd');
  assert.equal(errorReason('odd'), 'odd');
});
