import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { attributeOf } from '@updraft/htcondor/classad';
import { demoFederation } from '../mini/demo-federation.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { adOf, callPlugin, textAt } from './call-plugin.ts';

async function harness(t: TestContext) {
  const { federation, folder: origin } = await demoFederation(t);
  const token = federation.issueToken({ namespace: '/inbox' });
  const folder = await temporaryFolder(t, {
    'model.pt': 'weights',
    'log.txt': 'loss',
    'creds/scitokens.use': token,
  });
  const send = (names: string[], env: Record<string, string> = {}, query = '') =>
    callPlugin({
      folder,
      federation,
      upload: true,
      env: { _CONDOR_CREDS: path.join(folder, 'creds'), ...env },
      requests: names.map((name) => ({
        url: `osdf:///inbox/run/${name}${query}`,
        file: path.join(folder, name),
      })),
    });
  return { federation, origin, folder, send };
}

test('every file is sent, and a missing one fails alone', async (t) => {
  const { origin, send } = await harness(t);
  const { exit, ads } = await send(['model.pt', 'gone.txt', 'log.txt']);
  assert.equal(exit, 1);
  assert.equal(readFileSync(path.join(origin, 'inbox/run/model.pt'), 'utf8'), 'weights');
  assert.equal(readFileSync(path.join(origin, 'inbox/run/log.txt'), 'utf8'), 'loss');
  assert.match(textAt(adOf(ads, 'osdf:///inbox/run/gone.txt'), 'TransferError'), /gone\.txt cannot be read/);
  const sent = adOf(ads, 'osdf:///inbox/run/model.pt');
  assert.deepEqual(
    ['TransferSuccess', 'TransferType', 'TransferTotalBytes'].map((name) => attributeOf(sent, name)),
    [true, 'upload', 7],
  );
});

test('the same file again is a success, another one does not replace it unless requested', async (t) => {
  const { origin, send, folder } = await harness(t);
  assert.equal((await send(['model.pt'])).exit, 0);
  assert.equal((await send(['model.pt'])).exit, 0);
  const other = path.join(folder, 'model.pt');
  writeFileSync(other, 'others!');
  const refused = await send(['model.pt']);
  assert.equal(refused.exit, 1);
  assert.match(
    textAt(refused.ads[0], 'TransferError'),
    /exists already and differs from this file.*UPDRAFT_OVERWRITE/,
  );
  assert.equal(readFileSync(path.join(origin, 'inbox/run/model.pt'), 'utf8'), 'weights');
  assert.equal((await send(['model.pt'], { UPDRAFT_OVERWRITE: '1' })).exit, 0);
  assert.equal(readFileSync(path.join(origin, 'inbox/run/model.pt'), 'utf8'), 'others!');
});

test('uploads that would need packing or recursion are refused clearly', async (t) => {
  const { send } = await harness(t);
  const { exit, ads } = await send(['model.pt'], {}, '?pack=tar.gz');
  assert.equal(exit, 1);
  assert.match(
    textAt(ads[0], 'TransferError'),
    /uploads with 'pack' are not supported; fix: remove 'pack' from/,
  );
});
