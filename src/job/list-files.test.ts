import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault } from '../fault/fault.ts';
import { statIfThere } from './list-files.ts';

test('nothing there is told from what the system does not let one see', async () => {
  assert.equal(await statIfThere('/nowhere/at/all'), undefined);
  assert.equal((await statIfThere('/'))?.isDirectory(), true);
  await assert.rejects(
    statIfThere(`/${'x'.repeat(5000)}`),
    (fault) =>
      fault instanceof Fault && fault.kind === 'file-invalid' && /cannot be read/.test(fault.message),
  );
});
