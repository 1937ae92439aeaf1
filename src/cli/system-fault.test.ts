import assert from 'node:assert/strict';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { Fault } from '@updraft/account/fault';
import { systemFault } from './print-fault.ts';

const refused = (code: string, file?: string): Error =>
  Object.assign(new Error(`${code}: x`), {
    code,
    syscall: 'mkdir',
    ...(file === undefined ? {} : { path: file }),
  });

test("someone else's folder and a full disk are reported with a fix, not as bugs", () => {
  const denied = systemFault(refused('EACCES', '/home/ada/runs/x/rounds'));
  assert.deepEqual(
    [denied?.kind, denied?.message],
    ['file-invalid', '/home/ada/runs/x/rounds: permission denied (mkdir)'],
  );
  assert.match(denied?.fix ?? '', /ls -ld.*run this as that user/);
  const full = systemFault(refused('ENOSPC'));
  assert.deepEqual(
    [full?.kind, full?.message],
    ['disk-full', 'a file cannot be written: no space left on its disk'],
  );
  assert.equal(systemFault(refused('EDQUOT', '/x'))?.kind, 'disk-full');
});

test('a home that cannot be written to is reported with the variables that name other folders', () => {
  for (const folder of ['', '.local', '.cache/updraft'])
    assert.match(
      systemFault(refused('EACCES', path.join(os.homedir(), folder)))?.fix ?? '',
      /^set XDG_STATE_HOME and XDG_CACHE_HOME /,
    );
});

test('any other error is left unchanged', () => {
  for (const thrown of [refused('EBADF', '/x'), refused('EACCES'), new Fault('usage', 'x'), 'x', undefined])
    assert.equal(systemFault(thrown), undefined);
});
