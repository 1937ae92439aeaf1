import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { signedToken } from '../federation/signed-token.ts';
import { testAuthority, webServer } from '../federation/web-server.ts';
import { demoFederation } from '../mini/demo-federation.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { callPlugin, textAt } from './call-plugin.ts';

const issuer = 'https://issuer.example';
const mine = signedToken({ iss: issuer, aud: 'https://wlcg.cern.ch/jwt/v1/any', scope: 'storage.read:/' });

/** A federation other than the OSDF, whose director names the issuer of `mine`. */
async function elsewhere(t: TestContext) {
  const server = await webServer(t, ({ url }, response) => {
    if (url.startsWith('/.well-known/'))
      return response.end(JSON.stringify({ director_endpoint: `${server.url}/director` }));
    if (!url.startsWith('/director')) return response.end('hello');
    const named = {
      Server: 'pelican/7.27.0',
      Link: `<${server.url}${url.slice('/director'.length).split('?')[0] ?? ''}>; pri=1`,
      'X-Pelican-Namespace': `namespace=/ns, require-token=true, collections-url=${server.url}`,
      'X-Pelican-Authorization': `issuer=${issuer}`,
    };
    return response.writeHead(307, named).end();
  });
  const sent = (): string[] => server.requests.flatMap(({ headers }) => headers.authorization ?? []);
  return { sent, host: server.host };
}

test('the plugin sends a token that the job names, and withholds those that it finds', async (t) => {
  const { sent, host } = await elsewhere(t);
  const folder = await temporaryFolder(t, {
    mine,
    opaque: 'opaque-secret',
    'creds/scitokens.use': mine,
    'creds/box.use': 'opaque-secret',
  });
  const call = async (env: Record<string, string>, scheme = 'pelican') => {
    const requests = [{ url: `${scheme}://${host}/ns/x`, file: path.join(folder, 'x') }];
    const own = { UPDRAFT_SSL_CERT_FILE: testAuthority, _CONDOR_CREDS: path.join(folder, 'creds'), ...env };
    return await callPlugin({ folder, requests, env: own });
  };
  for (const name of ['UPDRAFT', 'PELICAN', 'OSDF'])
    for (const [file, token] of Object.entries({ mine, opaque: 'opaque-secret' })) {
      const { exit, stderr } = await call({ [`${name}_BEARER_TOKEN_FILE`]: file });
      assert.equal(exit, 0, stderr);
      assert.equal(sent().at(-1), `Bearer ${token}`, name);
    }
  assert.equal((await call({}, 'box+pelican')).exit, 0);
  assert.equal(sent().at(-1), 'Bearer opaque-secret');
  const count = sent().length;
  for (const env of [{}, { BEARER_TOKEN: mine }, { BEARER_TOKEN_FILE: path.join(folder, 'opaque') }]) {
    const { exit, ads } = await call(env);
    assert.equal(exit, 1);
    assert.match(textAt(ads[0], 'TransferError'), /you have not confirmed the federation/);
  }
  assert.equal(sent().length, count, 'none of them left the machine');
});

test("the plugin sends a credential of the pool to a federation that the job's order names as confirmed", async (t) => {
  const { sent, host } = await elsewhere(t);
  const train = { command: 'true', files: [], outputs: ['model.pt'], env: {} };
  const data = { name: 'd', url: `pelican://${host}/ns/x`, into: 'data', unpack: 'none', expect: {} };
  const order = {
    version: 1,
    run: 'bench',
    job: { id: '0000', parameters: {}, train },
    data: [{ ...data, delivered: 'x' }],
    environment: { python: [] },
    resources: { cpus: 1, gpus: 0, memoryBytes: 1 },
  };
  for (const token of [mine, 'opaque-secret'])
    for (const [confirmed, isSent] of [
      [[`https://${host}`], true],
      [['https://campus.example', `http://${host}`], false],
      [undefined, false],
    ] as const) {
      const folder = await temporaryFolder(t, {
        '.condor_creds/scitokens.use': token,
        '0000.json': JSON.stringify({ ...order, confirmed }),
        '.job.ad': 'UpdraftJob = "0000"\n',
      });
      const before = sent().length;
      const { exit, ads } = await callPlugin({
        folder,
        requests: [{ url: data.url, file: path.join(folder, 'x') }],
        env: { UPDRAFT_SSL_CERT_FILE: testAuthority, _CONDOR_JOB_AD: path.join(folder, '.job.ad') },
      });
      assert.equal(exit, isSent ? 0 : 1, textAt(ads[0], 'TransferError'));
      assert.deepEqual(
        [...new Set(sent().slice(before))],
        isSent ? [`Bearer ${token}`] : [],
        JSON.stringify(confirmed),
      );
    }
});

test('the plugin may be called again after a token was revoked', async (t) => {
  const { federation } = await demoFederation(t);
  const token = federation.issueToken({ namespace: '/private' });
  const folder = await temporaryFolder(t, { 'creds/scitokens.use': token });
  const file = path.join(folder, 's');
  const call = async () =>
    await callPlugin({
      folder,
      federation,
      requests: [{ url: 'osdf:///private/secret.txt', file }],
      env: { _CONDOR_CREDS: path.join(folder, 'creds') },
    });
  for (const cache of federation.caches) await federation.trouble.add(`${cache.name}: expire-token after 1B`);
  assert.equal((await call()).exit, 0);
  const { exit, ads } = await call();
  assert.equal(exit, 11, 'a failure that may pass');
  assert.match(textAt(ads[0], 'TransferError'), /token has expired/);
  await federation.trouble.clear();
  writeFileSync(path.join(folder, 'creds/scitokens.use'), federation.issueToken({ namespace: '/private' }));
  assert.equal((await call()).exit, 0, 'HTCondor renewed it in the sandbox');
  assert.ok(existsSync(file));
});
