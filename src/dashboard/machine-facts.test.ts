import assert from 'node:assert/strict';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { machineFacts } from './host.ts';

test("a schedd of another user counts, the user's own and other programs do not", async (t) => {
  const { uid } = os.userInfo();
  const folder = await temporaryFolder(t, {
    'with/12/comm': 'condor_schedd\n',
    'with/self/comm': 'node\n',
    'without/13/comm': 'condor_startd\n',
  });
  assert.equal((await machineFacts(uid + 1, path.join(folder, 'with'))).hasSchedd, true);
  assert.equal((await machineFacts(uid, path.join(folder, 'with'))).hasSchedd, false);
  assert.equal((await machineFacts(uid + 1, path.join(folder, 'without'))).hasSchedd, false);
  assert.equal((await machineFacts(uid, path.join(folder, 'absent'))).hostname, os.hostname());
});
