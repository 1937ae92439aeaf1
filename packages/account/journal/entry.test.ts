import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault } from '../fault/fault.ts';
import { toFaultRecord } from './entry.ts';

test('a record has only the fields that the fault has', () => {
  assert.deepEqual(toFaultRecord(new Fault('disk-full', 'full')), { kind: 'disk-full', message: 'full' });
});
