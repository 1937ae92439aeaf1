import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { demoFederation } from '../mini/demo-federation.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { callPlugin, textAt } from './call-plugin.ts';

test('no environment variable makes the plugin trust a director with an unknown certificate', async (t) => {
  const { federation } = await demoFederation(t);
  const folder = await temporaryFolder(t);
  const requests = [{ url: 'osdf:///demo/big.bin', file: path.join(folder, 'big.bin') }];
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0', UPDRAFT_SSL_CERT_FILE: '' };
  const { exit, ads } = await callPlugin({ folder, federation, requests, env });
  assert.notEqual(exit, 0);
  assert.match(textAt(ads[0], 'TransferError'), /certificate/);
});
