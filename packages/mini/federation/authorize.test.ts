import assert from 'node:assert/strict';
import { createPublicKey, verify, type JsonWebKey } from 'node:crypto';
import { test } from 'node:test';
import { type Clock, systemClock } from '@updraft/base';
import { ask, demoFederation } from '../../../test/mini/demo-federation.ts';

test('a protected object needs a valid token from its issuer, with a scope that covers it', async (t) => {
  const { federation, objects } = await demoFederation(t);
  const stranger = await demoFederation(t);
  const read = (scope: string): string => federation.issueToken({ namespace: '/private', scope });
  const good = federation.issueToken({ namespace: '/private' });
  const [head, claims, mark] = good.split('.') as [string, string, string];
  const forged = [
    head,
    Buffer.from(JSON.stringify({ ...decode(claims), scope: 'storage.read:/x' })).toString('base64url'),
    mark,
  ];
  const tokens: [string, string | undefined, boolean][] = [
    ['none', undefined, false],
    ['good', good, true],
    ['narrow', read('storage.read:/secret.txt'), true],
    ['SciTokens scope', read('openid read:/'), true],
    ['other folder', read('storage.read:/other'), false],
    ['name with the same beginning', read('storage.read:/secret'), false],
    ['write only', read('storage.create:/'), false],
    ['no scope', read(''), false],
    ['expired', federation.issueToken({ namespace: '/private', expiresInSeconds: -1 }), false],
    ['other namespace', federation.issueToken({ namespace: '/inbox' }), false],
    ['other federation', stranger.federation.issueToken({ namespace: '/private' }), false],
    ['forged', forged.join('.'), false],
    ['rubbish', 'rubbish', false],
  ];
  for (const { url, name } of [federation.origin, ...federation.caches])
    for (const [what, token, allowed] of tokens) {
      const answer = await ask(federation, `${url}/private/secret.txt`, token === undefined ? {} : { token });
      // A federated origin answers 401 so that clients renew their token; caches answer 403.
      const refused = name === 'origin' ? 401 : 403;
      assert.equal(answer.status, allowed ? 200 : refused, `${what} at ${name}`);
      if (allowed) assert.ok(answer.body.equals(objects.secret));
      else
        assert.equal((JSON.parse(answer.body.toString()) as { error: string }).error, 'authorization_denied');
    }
});

test('a token works in the query as in the header', async (t) => {
  const { federation } = await demoFederation(t);
  const token = federation.issueToken({ namespace: '/private' });
  for (const query of [`authz=${token}`, `authz=Bearer%20${token}`, `access_token=${token}`]) {
    const answer = await ask(federation, `${federation.caches[0]!.url}/private/secret.txt?${query}`);
    assert.equal(answer.status, 200);
  }
});

test('a cache hit still needs the token', async (t) => {
  const { federation } = await demoFederation(t);
  const url = `${federation.caches[0]!.url}/private/secret.txt`;
  await ask(federation, url, { token: federation.issueToken({ namespace: '/private' }) });
  assert.equal((await ask(federation, url)).status, 403);
});

test('anyone can check a token with the published keys, and it is a WLCG token', async (t) => {
  const { federation } = await demoFederation(t);
  const token = federation.issueToken({ namespace: '/private', expiresInSeconds: 60 });
  const [head, payload, mark] = token.split('.') as [string, string, string];
  const claims = decode(payload);
  assert.equal(claims['wlcg.ver'], '1.0');
  assert.equal(Number(claims['exp']) - Number(claims['iat']), 60);
  const page = async (url: string): Promise<unknown> =>
    JSON.parse((await ask(federation, url)).body.toString());
  const metadata = (await page(`${String(claims['iss'])}/.well-known/openid-configuration`)) as Record<
    string,
    string
  >;
  assert.equal(metadata['issuer'], claims['iss']);
  const { keys } = (await page(metadata['jwks_uri'] ?? '')) as { keys: (JsonWebKey & { kid: string })[] };
  const key = keys.find(({ kid }) => kid === decode(head)['kid']);
  assert.ok(key);
  const publicKey = { key: createPublicKey({ key, format: 'jwk' }), dsaEncoding: 'ieee-p1363' as const };
  assert.ok(verify('sha256', Buffer.from(`${head}.${payload}`), publicKey, Buffer.from(mark, 'base64url')));
});

test('a token expires by the clock', async (t) => {
  let now = Date.now();
  const clock: Clock = { ...systemClock, now: () => now };
  const { federation } = await demoFederation(t, { clock });
  const token = federation.issueToken({ namespace: '/private', expiresInSeconds: 600 });
  const url = `${federation.origin.url}/private/secret.txt`;
  assert.equal((await ask(federation, url, { token })).status, 200);
  now += 601_000;
  const late = await ask(federation, url, { token });
  assert.equal(late.status, 401);
  assert.match(late.body.toString(), /expired/);
});

function decode(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
}
