import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault } from '@updraft/account/fault';
import { statIfExists } from './list-files.ts';

test('a missing file is undefined, and denied access is a fault', async () => {
  assert.equal(await statIfExists('/nowhere/at/all'), undefined);
  assert.equal((await statIfExists('/'))?.isDirectory(), true);
  await assert.rejects(
    statIfExists(`/${'x'.repeat(5000)}`),
    (fault) =>
      fault instanceof Fault && fault.kind === 'file-invalid' && /cannot be read/.test(fault.message),
  );
});
