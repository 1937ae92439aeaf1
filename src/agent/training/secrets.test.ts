import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { WorkOrder } from '../../job/job.ts';
import { LogRedactor, takeSecrets, redactTexts } from './secrets.ts';

const secret = 'S3cr3t-value';

const orderIn = (folder: string): WorkOrder =>
  ({
    scratchParent: folder,
    attemptFolder: folder,
    job: { train: { env: { A: '1' }, secrets: { KEY: { from: 'env' } } } },
  }) as unknown as WorkOrder;

test('the secrets file is read and deleted, its values reach the environment, and it is restored for a pause', async (t) => {
  const folder = await temporaryFolder(t, { 'secrets.json': JSON.stringify({ KEY: secret }) });
  const file = path.join(folder, 'secrets.json');
  const taken = await takeSecrets(orderIn(folder));
  assert.equal(existsSync(file), false);
  assert.deepEqual(taken.order.job.train.env, { A: '1', KEY: secret });
  const said = redactTexts({ kind: 'x', list: [`a ${secret}`, 1, null] }, taken.redact);
  assert.deepEqual(said, { kind: 'x', list: ['a …', 1, null] });
  taken.restore();
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual((await takeSecrets(orderIn(folder))).values, [secret]);
  await assert.rejects(takeSecrets(orderIn(folder)), /no value was sent for KEY of \[train\.secrets\]/);
});

test('a secret in a growing log is overwritten, even if it came in two pieces; the length stays', async (t) => {
  const folder = await temporaryFolder(t);
  const log = path.join(folder, 'out.log');
  const redactor = new LogRedactor(orderIn(folder), [secret, 'abc']);
  redactor.redact();
  writeFileSync(log, `one ${secret} two ${secret.slice(0, 5)}`);
  redactor.redact();
  appendFileSync(log, `${secret.slice(5)} abc\n`);
  redactor.redact();
  const stars = '*'.repeat(secret.length);
  assert.equal(readFileSync(log, 'utf8'), `one ${stars} two ${stars} abc\n`);
  const wide = 'x'.repeat((1 << 18) - 4);
  appendFileSync(log, `${wide}${secret}${wide}${secret}`);
  redactor.redact();
  assert.ok(!readFileSync(log, 'utf8').includes(secret));
});

test('the visible part of a log ends before a partial secret and before newer bytes', async (t) => {
  const folder = await temporaryFolder(t);
  const log = path.join(folder, 'out.log');
  const redactor = new LogRedactor(orderIn(folder), [secret]);
  redactor.redact();
  writeFileSync(log, `one ${secret.slice(0, -1)}`);
  assert.equal(redactor.settled(log), 0);
  redactor.redact();
  assert.deepEqual([redactor.settled(log), redactor.seen(log)], [4, 3 + secret.length]);
  appendFileSync(log, `${secret.slice(-1)} two`);
  assert.equal(redactor.settled(log), 4);
  redactor.redact();
  assert.equal(redactor.settled(log), readFileSync(log).length);
  assert.equal(new LogRedactor(orderIn(folder), []).settled(log), Infinity);
});
