import assert from 'node:assert/strict';
import { chmod, stat } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@updraft/base';
import { temporaryFolder } from '../../../../test/temporary-folder.ts';
import { createTokens, type TokenUse } from '../token.ts';
import { createLoginTokens } from './oauth.ts';
import { LoginStore, type StoredLogin } from './login-store.ts';

const issuer = 'https://issuer.example/ns';
const federation = 'https://fed.example';
const use: TokenUse = {
  verb: 'GET',
  path: '/ns/a/x',
  namespace: '/ns',
  issuers: [issuer],
  to: 'https://cache.example/ns/a/x',
  federation: { url: federation, isUsersOwn: true, servers: [] },
};
const login: StoredLogin = {
  federation,
  issuer,
  namespace: '/ns',
  url: 'pelican://fed.example/ns',
  client: { id: 'me' },
  tokenEndpoint: `${issuer}/token`,
  scopes: ['storage.read:/a'],
  accessToken: 'opaque',
  obtained: 0,
};

test('a login is used for its own federation, issuer, namespace and scopes, after tokens that fit', async (t) => {
  const cwd = await temporaryFolder(t);
  const context = { env: { XDG_STATE_HOME: cwd, _CONDOR_CREDS: cwd }, uid: process.getuid?.() ?? 0 };
  const store = new LoginStore(context);
  await store.write(login);
  const wire = { request: () => assert.fail('nobody is asked'), plainHttp: () => false, userAgent: 'test' };
  const loginTokens = createLoginTokens({ store, clock: systemClock, wire });
  const tokens = createTokens({ ...context, cwd, clock: systemClock, loginTokens });
  const find = (changed: Partial<TokenUse>) => tokens.find({ ...use, ...changed }, {});
  assert.equal(await find({}), 'opaque');
  const other = { url: 'https://other.example', isUsersOwn: true, servers: [] };
  for (const changed of [
    { federation: other },
    { issuers: ['https://other.example'] },
    { namespace: '/ns/a' },
    { path: '/ns/b/x' },
    { verb: 'PUT' as const },
  ])
    await assert.rejects(find(changed), { kind: 'token-missing' }, JSON.stringify(changed));
  await assert.rejects(tokens.find(use, { tokenFile: 'none' }), /token/);
  await store.forget(login);
  await assert.rejects(find({}), { kind: 'token-missing' });
});

test("a confirmation counts only if it is the user's own file, for that very federation", async (t) => {
  const cwd = await temporaryFolder(t);
  const env = { XDG_STATE_HOME: cwd };
  const uid = process.getuid?.() ?? 0;
  const wire = { request: () => assert.fail('nobody is asked'), plainHttp: () => false, userAgent: 'test' };
  const confirmed = (user: number, url: string): Promise<boolean> =>
    createLoginTokens({ store: new LoginStore({ env, uid: user }), clock: systemClock, wire }).isConfirmed(
      url,
    );
  assert.equal(await confirmed(uid, federation), false, 'nothing is, at first');
  await new LoginStore({ env, uid }).confirm([federation, 'https://campus.example:8444']);
  const file = path.join(cwd, 'updraft/logins/federations');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal(await confirmed(uid, federation), true);
  for (const url of ['https://fed.example:8444', 'http://fed.example', 'https://campus.example', ''])
    assert.equal(await confirmed(uid, url), false, url);
  await assert.rejects(confirmed(uid + 1, federation), /federations is not used as a login/);
  await chmod(file, 0o602);
  await assert.rejects(confirmed(uid, federation), /federations is not used as a login/);
});
