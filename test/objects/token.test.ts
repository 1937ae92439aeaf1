import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { type Clock, systemClock } from '@updraft/base';
import { ObjectHarness } from './object-harness.ts';

const size = 3_000_000;
const hour = { namespace: '/private', expiresInSeconds: 3600 };

test('a token that servers refuse during a transfer is read again from its file, and the transfer continues', async (t) => {
  const harness = await ObjectHarness.open(t);
  const bytes = await harness.publish('private/x', size);
  await harness.trouble(
    'cache-1: expire-token after 1MB on x first 1',
    'cache-1: reset after 2MB on x first 1',
  );
  const env = await harness.tokenEnv(hour);
  let said = '';
  const { exit } = await harness.updraft(['get', 'osdf:///private/x', 'got'], {
    env,
    err: (text) => {
      said += text;
      if (/token has expired/.test(text)) void renew(harness, env['BEARER_TOKEN_FILE']!);
    },
  });
  assert.equal(exit, 0, said);
  assert.match(
    said,
    /answers 403 Forbidden \(authorization_denied: token has expired\); asking another server/,
  );
  assert.deepEqual(await readFile(harness.at('got')), bytes);
});

test('an expired token is not sent any more; a new one in its file is waited for, then used', async (t) => {
  const harness = await ObjectHarness.open(t);
  const bytes = await harness.publish('private/x', size);
  await harness.trouble('cache-1: reset after 1MB on x first 1');
  const env = await harness.tokenEnv({ namespace: '/private', expiresInSeconds: 600 });
  let ahead = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead };
  let said = '';
  const { exit } = await harness.updraft(['get', 'osdf:///private/x', 'got'], {
    env,
    clock,
    err: (text) => {
      said += text;
      if (/resuming /.test(text)) ahead = 700_000;
      if (/waiting for a new one/.test(text)) void renew(harness, env['BEARER_TOKEN_FILE']!);
    },
  });
  assert.equal(exit, 0, said);
  assert.equal(
    said.match(/the token for \/private from .* expired at .*; waiting for a new one/g)?.length,
    1,
    said,
  );
  assert.deepEqual(await readFile(harness.at('got')), bytes);
  for (const name of ['cache-1', 'cache-2', 'origin'])
    assert.equal(harness.federation.counters.server(name).outcomes['403'], undefined);
});

test('one cache that refuses a good token does not matter', async (t) => {
  const harness = await ObjectHarness.open(t);
  const bytes = await harness.publish('private/x', size);
  await harness.trouble('cache-1: 403 on x');
  const env = await harness.tokenEnv(hour);
  const { exit, err } = await harness.updraft(['get', 'osdf:///private/x', 'got'], { env });
  assert.equal(exit, 0, err);
  assert.match(err, /answers 403 .*; asking another server/);
  assert.deepEqual(await readFile(harness.at('got')), bytes);
});

async function renew({ federation }: ObjectHarness, file: string): Promise<void> {
  await writeFile(file, federation.issueToken(hour));
}
