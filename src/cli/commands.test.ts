import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault, kinds } from '@updraft/account/fault';
import { assertSystem } from './command-line.ts';

test('on macOS, what runs jobs is refused with what to do; reading and checking works', () => {
  for (const command of ['report', 'why', 'adopt', 'check', 'plan', 'dashboard', 'status', 'get'])
    assertSystem(command, 'darwin');
  assert.throws(
    () => assertSystem('run', 'darwin'),
    (error: unknown) => {
      assert.ok(error instanceof Fault);
      assert.equal(error.message, 'updraft run needs Linux, and this is macOS');
      assert.match(error.fix ?? '', /^log in to an access point with ssh/);
      return kinds[error.kind].exit === 4;
    },
  );
});

test('on Windows, every command points to WSL; on Linux nothing is refused', () => {
  assert.throws(() => assertSystem('report', 'win32'), /does not run on Windows itself/);
  for (const command of ['run', 'mini', 'report']) assertSystem(command, 'linux');
});
