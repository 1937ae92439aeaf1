import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { Fault } from './fault.ts';
import { diskFault } from './budget.ts';

const errno = (code: string): Error =>
  Object.assign(new Error(`${code}: failed, write`), { code, syscall: 'write', errno: -1 });

function faultOf(code: string): Fault {
  const fault = diskFault(errno(code), tmpdir(), 12_345_678);
  assert.ok(fault instanceof Fault);
  return fault;
}

test('a full disk and an exceeded quota are reported with the bytes written and the bytes free', () => {
  for (const code of ['ENOSPC', 'EDQUOT']) {
    assert.equal(faultOf(code).kind, 'disk-full');
    assert.match(faultOf(code).message, /unpacked 12,345,678 bytes into .*, [\d,]+ bytes are free/);
  }
});

test('a disk that cannot be written to is reported as unusable, with the system error', () => {
  for (const code of ['EACCES', 'EROFS', 'EIO']) {
    assert.equal(faultOf(code).kind, 'scratch-unusable');
    assert.match(faultOf(code).message, new RegExp(code));
  }
});

test('an error that did not come from the disk is returned unchanged', () => {
  const mistake = new TypeError('x is not a function');
  assert.equal(diskFault(mistake, tmpdir(), 0), mistake);
});
