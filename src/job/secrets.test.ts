import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import type { Plan } from './plan.ts';
import { findSecrets } from './secrets.ts';

test('a file with bytes that a variable cannot hold gives no secret, and a reason', async (t) => {
  const folder = await temporaryFolder(t);
  const plan = {
    folder,
    spec: { train: { secrets: { KEY: { from: 'file', path: 'key' } } } },
  } as unknown as Plan;
  const file = path.join(folder, 'key');
  for (const bytes of [Buffer.from('key\n', 'utf16le'), Buffer.from('caf\xe9', 'latin1')]) {
    await writeFile(file, bytes);
    assert.deepEqual(await findSecrets(plan, {}), [
      { name: 'KEY', from: `${file} as UTF-8 without zero bytes`, value: undefined },
    ]);
  }
  await writeFile(file, 'two\nlines é\n');
  assert.deepEqual(await findSecrets(plan, {}), [{ name: 'KEY', from: file, value: 'two\nlines é' }]);
});
