import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { ask, demoFederation } from '../../../test/mini/demo-federation.ts';
import { askAdmin, startAdmin } from './federation.ts';

async function demoAdmin(t: TestContext) {
  const { federation } = await demoFederation(t);
  const admin = await startAdmin(federation);
  t.after(() => admin.stop());
  return { federation, admin };
}

test('another process with the key adds trouble, sees it fire, and removes it', async (t) => {
  const { federation, admin } = await demoAdmin(t);
  const url = `${federation.caches[0]!.url}/demo/sub/small.txt`;
  const first = (await askAdmin(admin, 'POST', '/trouble', { rule: 'cache-1: 404' })) as { id: number };
  await askAdmin(admin, 'POST', '/trouble', { rule: 'cache-2: 503' });
  assert.equal((await ask(federation, url)).status, 404);
  const status = (await askAdmin(admin, 'GET', '/status')) as { trouble: object[]; counters: object };
  assert.deepEqual(status.trouble, [
    { id: first.id, rule: 'cache-1: 404', seen: 1, fired: 1 },
    { id: first.id + 1, rule: 'cache-2: 503', seen: 0, fired: 0 },
  ]);
  assert.deepEqual(status.counters, federation.counters.snapshot());
  await askAdmin(admin, 'DELETE', '/trouble', { id: first.id });
  assert.equal((await ask(federation, url)).status, 200);
  await askAdmin(admin, 'DELETE', '/trouble');
  assert.deepEqual(federation.trouble.list(), []);
});

test('it issues tokens', async (t) => {
  const { federation, admin } = await demoAdmin(t);
  const { token } = (await askAdmin(admin, 'POST', '/token', { namespace: '/private' })) as { token: string };
  assert.equal((await ask(federation, `${federation.origin.url}/private/secret.txt`, { token })).status, 200);
});

test('it approves and denies logins by their code', async (t) => {
  const { federation, admin } = await demoAdmin(t);
  const flow = federation.logins('/private');
  const { client_id: id, client_secret: secret } = flow.register('x').body as Record<string, string>;
  const client = { id: id ?? '', secret: secret ?? '' };
  const asked = flow.authorize(new URLSearchParams({ scope: 'storage.read:/' }), client, 'page').body;
  const { user_code: code, device_code } = asked as Record<string, string>;
  await askAdmin(admin, 'POST', '/login', { code });
  await assert.rejects(
    askAdmin(admin, 'POST', '/login', { code, deny: true }),
    /no pending login has the code/,
  );
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
  const { body } = flow.token(new URLSearchParams({ grant_type, device_code: device_code ?? '' }), client);
  const token = (body as { access_token: string }).access_token;
  assert.equal((await ask(federation, `${federation.origin.url}/private/secret.txt`, { token })).status, 200);
});

test('without the key nothing can be asked or changed', async (t) => {
  const { federation, admin } = await demoAdmin(t);
  const stranger = { url: admin.url, key: 'guess' };
  for (const [method, where] of [
    ['GET', '/status'],
    ['POST', '/token'],
    ['DELETE', '/trouble'],
  ] as const)
    await assert.rejects(askAdmin(stranger, method, where), /the key is wrong/);
  await assert.rejects(askAdmin(stranger, 'POST', '/trouble', { rule: 'all: 404' }), /the key is wrong/);
  assert.deepEqual(federation.trouble.list(), []);
});

test('a bad request is answered with what is wrong', async (t) => {
  const { admin } = await demoAdmin(t);
  await assert.rejects(
    askAdmin(admin, 'POST', '/trouble', { rule: 'cache-1: explode' }),
    /'explode' is not an action/,
  );
  await assert.rejects(askAdmin(admin, 'DELETE', '/trouble', { id: 7 }), /no trouble rule 7/);
  await assert.rejects(
    askAdmin(admin, 'POST', '/token', { namespace: '/demo' }),
    /no tokens are issued for \/demo/,
  );
  await assert.rejects(askAdmin(admin, 'GET', '/nothing'), /unknown route/);
});
