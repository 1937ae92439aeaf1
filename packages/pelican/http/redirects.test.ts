import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { jumpingClock } from '../../../test/federation/jumping-clock.ts';
import { testAuthority, webServer } from '../../../test/federation/web-server.ts';
import { ConnectionPool } from './connections.ts';
import { sendRequest, createRequest, upload } from './exchange.ts';
import { NoAnswer, type NoAnswerReason } from './no-answer.ts';
import { readTrust } from './trust.ts';

async function* body() {
  yield await Promise.resolve(Buffer.from('12345'));
}

/** The three ways to send a request: for data, for control, with a body. */
function doors(t: TestContext) {
  const ca = readTrust({ SSL_CERT_FILE: testAuthority });
  const pool = new ConnectionPool({ clock: jumpingClock([10_000, 20_000, 30_000, 40_000]), ca });
  t.after(() => pool.close());
  const headers = { authorization: 'Bearer secret', 'X-Kept': '1' };
  const { signal } = new AbortController();
  const control = createRequest(pool);
  return {
    data: (url: string) =>
      sendRequest(pool, { method: 'GET', url, headers, headMs: 20_000, redirects: 3, signal }),
    control: (url: string) => control({ method: 'GET', url, headers, redirects: 3 }),
    upload: (url: string) => upload(pool, { url, headers, body, size: 5, stallMs: 40_000, redirects: 3 }),
  };
}

const because = (reason: NoAnswerReason) => (error: unknown) =>
  error instanceof NoAnswer && error.reason === reason && !error.mayPass;

test('no request follows a redirect from https to plain http', async (t) => {
  const plain = await webServer(t, (_, response) => response.end('read by anybody'), { plain: true });
  const secure = await webServer(t, (_, response) =>
    response.writeHead(307, { Location: `${plain.url}/x` }).end(),
  );
  for (const send of Object.values(doors(t))) await assert.rejects(send(secure.url), because('downgrade'));
  assert.equal(secure.requests.length, 3);
  assert.equal(plain.requests.length, 0);
});

test('a redirect from https to https is followed, and the token stays with its host', async (t) => {
  const far = await webServer(t, (_, response) => response.end('far'));
  const near = await webServer(t, ({ url }, response) =>
    response.writeHead(307, { Location: url === '/a' ? '/b' : `${far.url}/c` }).end(),
  );
  for (const send of Object.values(doors(t))) await send(`${near.url}/a`);
  assert.deepEqual(
    near.requests.map(({ headers }) => headers.authorization),
    Array<string>(6).fill('Bearer secret'),
  );
  assert.deepEqual(
    far.requests.map(({ headers, body: sent }) => [headers.authorization, headers['x-kept'], String(sent)]),
    [
      [undefined, '1', ''],
      [undefined, '1', ''],
      [undefined, '1', '12345'],
    ],
  );
});

test('a host that is reached again after a redirect elsewhere does not get the token', async (t) => {
  const near = await webServer(t, ({ url }, response) =>
    url === '/a' ? response.writeHead(307, { Location: `${far.url}/b` }).end() : response.end('back'),
  );
  const far = await webServer(t, (_, response) =>
    response.writeHead(302, { Location: `${near.url}/c` }).end(),
  );
  await doors(t).control(`${near.url}/a`);
  assert.deepEqual(
    near.requests.map(({ headers }) => headers.authorization),
    ['Bearer secret', undefined],
  );
});

test('a redirect loop ends, and so does a redirect to something other than http', async (t) => {
  const circle = await webServer(t, (_, response) => response.writeHead(302, { Location: '/again' }).end(), {
    plain: true,
  });
  const odd = await webServer(
    t,
    (_, response) => response.writeHead(302, { Location: 'ftp://host/x' }).end(),
    {
      plain: true,
    },
  );
  for (const send of Object.values(doors(t))) {
    await assert.rejects(send(circle.url), because('redirects'));
    await assert.rejects(send(odd.url), /redirects to something that is not an http URL/);
  }
  assert.equal(circle.requests.length, 3 * 4);
});
