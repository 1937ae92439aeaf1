import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '@updraft/base';
import type { Fault } from '../../fault.ts';
import { NoAnswer } from '../../http/no-answer.ts';
import type { ControlRequest } from '../../http/exchange.ts';
import { askForCode, awaitApproval } from './log-in.ts';
import { readMetadata, registerClient, type Wire } from './oauth.ts';

type Said = { status: number; body: object } | 'silence';

/** An issuer that gives these answers in turn, and the requests it got. */
function scripted(...said: Said[]): { wire: Wire; asked: ControlRequest[] } {
  const asked: ControlRequest[] = [];
  const wire: Wire = {
    plainHttp: () => false,
    userAgent: 'test',
    request(request) {
      asked.push(request);
      const next = said.shift() ?? 'silence';
      if (next === 'silence') return Promise.reject(new NoAnswer('timeout', 'issuer.example', 'is silent'));
      const { status, body } = next;
      return Promise.resolve({ status, body: JSON.stringify(body), headers: {}, url: request.url });
    },
  };
  return { wire, asked };
}

/** A clock on which only sleeping takes time. */
function sleepyClock(): Clock & { slept: number[] } {
  const slept: number[] = [];
  const now = (): number => slept.reduce((sum, ms) => sum + ms, 0);
  return { slept, now, monotonic: now, sleep: (ms) => Promise.resolve(void slept.push(ms)) };
}

const issuer = 'https://issuer.example/ns';
const metadata = { issuer, token: `${issuer}/token`, device: `${issuer}/device` };
const client = { id: 'me', secret: 's3cret-of-mine' };
const refuse = (error: string, description?: string): Said => ({
  status: 400,
  body: { error, error_description: description },
});
const asking = { deviceCode: 'code', userCode: 'AB', url: 'https://x', expires: 600_000, intervalSeconds: 5 };
const granted: Said = { status: 200, body: { access_token: 'a.b.c', refresh_token: 'r', expires_in: 60 } };

test('polls at the allowed rate: slower when asked, through silence, until the token arrives', async () => {
  const pending = refuse('authorization_pending');
  const { wire, asked } = scripted(pending, refuse('slow_down'), pending, 'silence', granted);
  const clock = sleepyClock();
  const got = await awaitApproval(wire, metadata, client, { asking, clock });
  assert.deepEqual(got, { accessToken: 'a.b.c', refreshToken: 'r', life: 60 });
  assert.deepEqual(clock.slept, [5000, 5000, 10_000, 10_000, 20_000]);
  assert.ok(asked.every(({ method, url }) => method === 'POST' && url === metadata.token));
  assert.match(asked[0]?.body ?? '', /grant-type%3Adevice_code&device_code=code$/);
});

test('ends with the reason: denied, too late, or refused in other words, without our secrets', async () => {
  const end = async (...said: Said[]): Promise<Fault> => {
    const { wire } = scripted(...said);
    const waited = awaitApproval(wire, metadata, client, { asking, clock: sleepyClock() });
    return await waited.then(
      () => assert.fail('it was granted'),
      (error: unknown) => error as Fault,
    );
  };
  assert.equal((await end(refuse('access_denied'))).kind, 'token-refused');
  assert.equal((await end(refuse('expired_token'))).kind, 'token-missing');
  const forever = Array.from({ length: 300 }, () => refuse('authorization_pending'));
  assert.match((await end(...forever)).message, /was not approved in time/);
  const echoed = await end(refuse('server_is_odd', `what is ${client.secret}?`));
  assert.equal(echoed.kind, 'token-refused');
  assert.match(echoed.message, /what is …\?/);
  assert.equal((await end()).kind, 'servers-unreachable');
});

test('metadata are valid only if they name their issuer and every URL is https', async () => {
  const said = { issuer, token_endpoint: `${issuer}/token`, registration_endpoint: `${issuer}/reg` };
  const missing: Said = { status: 404, body: {} };
  const { wire, asked } = scripted(missing, { status: 200, body: said });
  assert.deepEqual(await readMetadata(wire, issuer), {
    issuer,
    token: `${issuer}/token`,
    registration: `${issuer}/reg`,
  });
  assert.deepEqual(
    asked.map(({ url }) => url),
    [
      `${issuer}/.well-known/openid-configuration`,
      'https://issuer.example/.well-known/oauth-authorization-server/ns',
    ],
  );
  for (const [body, why] of [
    [{ ...said, issuer: 'https://other.example' }, /those of https:\/\/other\.example/],
    [{ ...said, token_endpoint: 'http://issuer.example/token' }, /its token_endpoint is not an https URL/],
    [{ issuer }, /have no token_endpoint/],
  ] as const)
    await assert.rejects(readMetadata(scripted({ status: 200, body }).wire, issuer), why);
  await assert.rejects(readMetadata(wire, 'http://issuer.example'), /not an https URL/);
});

test('an issuer without registration, device codes or a page is refused, and the message says which', async () => {
  const { wire } = scripted({ status: 200, body: { device_code: 'd', user_code: 'u' } });
  await assert.rejects(registerClient(wire, metadata), /it does not offer dynamic client registration/);
  const ask = { scope: 'wlcg', now: 0 };
  const without = { issuer, token: metadata.token };
  await assert.rejects(askForCode(wire, without, client, ask), /offers no login by device code/);
  await assert.rejects(askForCode(wire, metadata, client, ask), /lacks a code or a page/);
});

test('what an issuer asks to show or to wait for is limited', async () => {
  const ask = async (said: object): ReturnType<typeof askForCode> => {
    const body = { device_code: 'd', user_code: 'AB', verification_uri: 'https://x/', ...said };
    const { wire } = scripted({ status: 200, body });
    return await askForCode(wire, metadata, client, { scope: 'wlcg', now: 0 });
  };
  const huge = await ask({ interval: 9e9, expires_in: '9e9', user_code: 'A\nrun this: \u001b[31m' });
  assert.deepEqual(
    [huge.intervalSeconds, huge.expires, huge.userCode],
    [60, 86_400_000, 'A run this: \ufffd[31m'],
  );
  assert.equal((await ask({ verification_uri: 'https://x/\n\u001b[2Jb' })).url, 'https://x/%1B[2Jb');
  for (const page of ['javascript:alert(1)', 'http://issuer.example/', 'https://', 'file:///etc/passwd'])
    await assert.rejects(ask({ verification_uri: page }), /lacks a code or a page with an https URL/);
});

test('an issuer that only answers slow_down is given up when its code expires', async () => {
  const clock = sleepyClock();
  const { wire } = scripted(...Array.from({ length: 300 }, () => refuse('slow_down')));
  await assert.rejects(awaitApproval(wire, metadata, client, { asking, clock }), /was not approved in time/);
  assert.equal(clock.now(), asking.expires);
});
