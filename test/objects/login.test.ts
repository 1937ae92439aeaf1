import assert from 'node:assert/strict';
import { chmod, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { type Clock, systemClock } from '@updraft/base';
import type { Cli } from '../../src/cli/cli.ts';
import { renewTokensOf } from '../../src/cli/object/login.ts';
import type { Plan } from '../../src/job/plan.ts';
import type { StoredLogin } from '@updraft/pelican/login';
import type { DeviceFlow } from '@updraft/mini/testing';
import { hostileFederation } from './hostile-host.ts';
import { ended, ObjectHarness } from './object-harness.ts';

type Ended = Awaited<ReturnType<ObjectHarness['updraft']>>;

/** A federation with logins, and a user who decides on each as soon as its code is shown. */
class LoginHarness {
  readonly bench: ObjectHarness;
  readonly flow: DeviceFlow;
  verdict: 'approved' | 'denied' | 'none' = 'approved';

  private constructor(harness: ObjectHarness, flow: DeviceFlow) {
    this.bench = harness;
    this.flow = flow;
  }

  static async open(t: TestContext): Promise<LoginHarness> {
    const harness = await ObjectHarness.open(t);
    for (const prefix of ['/private', '/inbox'])
      harness.federation.logins(prefix).settings.intervalSeconds = 0.01;
    return new LoginHarness(harness, harness.federation.logins('/private'));
  }

  async updraft(words: string[], context: Partial<Cli> = {}): Promise<Ended> {
    let err = '';
    const said = await this.bench.updraft(words, {
      uid: process.getuid?.() ?? 0,
      ...context,
      err: (text) => {
        err += text;
        const code = /code {3}(\S+)/.exec(text)?.[1];
        if (code !== undefined && this.verdict !== 'none')
          this.bench.federation.decideLogin(code, this.verdict);
        context.err?.(text);
      },
    });
    return { ...said, err };
  }

  get folder(): string {
    return this.bench.at('.state/updraft/logins');
  }

  async files(end: string): Promise<string[]> {
    const names = await readdir(this.folder).catch(() => []);
    return names.filter((name) => name.endsWith(end)).map((name) => path.join(this.folder, name));
  }

  /** The one stored login. */
  async kept(): Promise<StoredLogin & { file: string }> {
    const [file = '', ...others] = await this.files('.json');
    assert.deepEqual(others, []);
    return { ...(JSON.parse(await readFile(file, 'utf8')) as StoredLogin), file };
  }

  /** Makes the stored token expire. */
  async age(): Promise<void> {
    const { file, ...login } = await this.kept();
    await writeFile(file, JSON.stringify({ ...login, expires: login.obtained - 1 }));
  }

  count(kind: string): number {
    return this.flow.seen.filter((one) => one.startsWith(kind)).length;
  }
}

test('a login is shown, approved, stored for its user alone, used, listed and forgotten', async (t) => {
  const login = await LoginHarness.open(t);
  await login.bench.publish('private/sub/x', 'hello');
  const before = await login.updraft(['get', 'osdf:///private/sub/x', 'a']);
  assert.equal(before.exit, 93);
  assert.match(before.err, /fix: `updraft login osdf:\/\/\/private`, or get a token/);

  const made = await login.updraft(['login', 'osdf:///private/sub', '--json']);
  assert.equal(made.exit, 0, made.err);
  assert.match(made.err, /open {3}https:\S+user_code=(\S+)\n {2}code {3}\1\n/);
  const [code, kept] = made.out.split('\n', 2).map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.match(String(code?.['page']), new RegExp(String(code?.['userCode'])));
  assert.deepEqual(kept?.['scopes'], ['storage.read:/sub']);
  assert.ok(login.flow.seen.includes('authorize wlcg offline_access storage.read:/sub'));
  const got = await login.updraft(['get', 'osdf:///private/sub/x', 'a']);
  assert.equal(got.exit, 0, got.err);

  assert.equal((await stat(login.folder)).mode & 0o777, 0o700);
  for (const end of ['.json', '.token', '.client'])
    for (const file of await login.files(end)) assert.equal((await stat(file)).mode & 0o777, 0o600, file);
  const { accessToken, refreshToken = '', client } = await login.kept();
  const list = await login.updraft(['login', '--list']);
  assert.match(list.out, /osdf:\/\/\/private +read \/private\/sub +for (20m|19m\d+s), renewed when used/);
  const json = await login.updraft(['login', '--list', '--json']);
  for (const { out, err } of [before, made, got, list, json])
    for (const secret of [accessToken, refreshToken, client.secret ?? '', 'eyJ'])
      assert.ok(!(out + err).includes(secret), secret);

  const other = await login.updraft(['get', 'osdf:///private/y', 'b']);
  assert.match(other.err, /your login at https:\S+ \(only storage\.read:\/sub\)/);
  const wider = await login.updraft(['login', 'osdf:///private/other']);
  assert.match(wider.err, /may read \/private\/other, read \/private\/sub/);
  assert.equal(login.count('register'), 1, 'one registration serves all logins');

  const gone = await login.updraft(['login', '--forget', 'osdf:///private/sub']);
  assert.equal(gone.exit, 0, gone.err);
  assert.deepEqual(await readdir(login.folder), []);
  assert.equal(login.count('revoke'), 1, 'the issuer takes it back');
  assert.equal((await login.updraft(['get', 'osdf:///private/sub/x', 'c'])).exit, 93);
  assert.equal((await login.updraft(['login', '--forget', 'osdf:///private'])).exit, 2);
});

test('uploads need a login that may write; --forget all leaves nothing', async (t) => {
  const login = await LoginHarness.open(t);
  await writeFile(login.bench.at('f'), 'new');
  const refused = await login.updraft(['put', 'f', 'osdf:///inbox/me/f']);
  assert.match(refused.err, /`updraft login osdf:\/\/\/inbox --write`/);
  assert.equal((await login.updraft(['login', 'osdf:///inbox/me', '--write'])).exit, 0);
  const put = await login.updraft(['put', 'f', 'osdf:///inbox/me/f']);
  assert.equal(put.exit, 0, put.err);
  assert.equal((await login.updraft(['login', '--forget', 'all'])).exit, 0);
  assert.deepEqual(await login.files(''), []);
});

test('a login that is denied, not approved in time, or stopped leaves only the registration', async (t) => {
  const login = await LoginHarness.open(t);
  login.verdict = 'denied';
  const denied = await login.updraft(['login', 'osdf:///private']);
  assert.equal(denied.exit, 94);
  assert.match(denied.err, /was denied/);
  login.verdict = 'none';
  login.flow.settings.codeSeconds = 0.005;
  const late = await login.updraft(['login', 'osdf:///private']);
  assert.equal(late.exit, 93);
  assert.match(late.err, /the login at \S+ was not approved in time/);
  login.flow.settings.codeSeconds = 600;
  const stop = new AbortController();
  const stopped = login.updraft(['login', 'osdf:///private'], {
    signal: stop.signal,
    err: (text) => {
      if (text.includes('code   ')) stop.abort(new Error('stopped'));
    },
  });
  assert.notEqual((await stopped).exit, 0);
  assert.deepEqual(
    (await readdir(login.folder)).map((name) => path.extname(name)),
    ['.client'],
  );
});

test('two processes that find an expiring token get one new one; a failed renewal is reported', async (t) => {
  const login = await LoginHarness.open(t);
  await login.bench.publish('private/x', 'hello');
  assert.equal((await login.updraft(['login', 'osdf:///private'])).exit, 0);
  await login.age();
  const { refreshToken } = await login.kept();
  const both = await Promise.all(
    ['a', 'b'].map((name) => ended(login.bench.spawn(['get', 'osdf:///private/x', name]))),
  );
  for (const { exit, err } of both) assert.equal(exit, 0, err);
  assert.equal(login.count('refresh_token'), 1);
  assert.notEqual((await login.kept()).refreshToken, refreshToken);
  const renewed = await login.updraft(['login', '--renew']);
  assert.equal(renewed.exit, 0, renewed.err);
  assert.equal(login.count('refresh_token'), 2);

  await login.age();
  login.flow.forgetClients();
  const over = await login.updraft(['get', 'osdf:///private/x', 'c']);
  assert.equal(over.exit, 95);
  assert.match(over.err, /your login at \S+ expired at .*issues no new token[^]*fix: `updraft login/);
  assert.equal((await login.kept()).refreshToken, undefined);
  const again = await login.updraft(['login', 'osdf:///private']);
  assert.equal(again.exit, 0, again.err);
  assert.equal(login.count('register'), 2);
  assert.equal((await login.updraft(['get', 'osdf:///private/x', 'c'])).exit, 0);
});

test('a token that expires during a transfer is renewed, and none is refused', async (t) => {
  const login = await LoginHarness.open(t);
  const bytes = await login.bench.publish('private/x', 3_000_000);
  assert.equal((await login.updraft(['login', 'osdf:///private'])).exit, 0);
  await login.bench.trouble('cache-1: reset after 1MB on x first 1');
  let ahead = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead };
  const { exit, err } = await login.updraft(['get', 'osdf:///private/x', 'got'], {
    clock,
    err: (text) => {
      if (/resuming /.test(text)) ahead = 1_150_000;
    },
  });
  assert.equal(exit, 0, err);
  assert.equal(login.count('refresh_token'), 1);
  assert.deepEqual(await readFile(login.bench.at('got')), bytes);
  for (const name of ['cache-1', 'cache-2', 'origin'])
    assert.equal(login.bench.federation.counters.server(name).outcomes['403'], undefined);
});

test('a login that others could read is refused by name', async (t) => {
  const login = await LoginHarness.open(t);
  await login.bench.publish('private/x', 'hello');
  assert.equal((await login.updraft(['login', 'osdf:///private'])).exit, 0);
  const { file } = await login.kept();
  await chmod(file, 0o640);
  const got = await login.updraft(['get', 'osdf:///private/x', 'a']);
  assert.notEqual(got.exit, 0);
  assert.match(got.err, /private-\w+\.json is not used as a login: other users can read it/);
  assert.equal((await login.updraft(['login', '--forget', 'all'])).exit, 0);
  assert.deepEqual(await login.files(''), []);
});

test('get, put and check on a terminal offer the login, and accept a no', async (t) => {
  const login = await LoginHarness.open(t);
  await login.bench.publish('private/d/x', 'hello');
  await writeFile(login.bench.at('f'), 'new');
  const job = '[train]\ncommand = "cat data/* > out"\noutputs = ["out"]\n';
  const data = '[data.d]\nurl = "osdf:///private/d/x"\nunpack = "none"\nexpect = { bytes = 5 }\n';
  await writeFile(login.bench.at('updraft.toml'), `name = "x"\n${job}${data}`);
  const answered: string[] = [];
  const asking = (answer: string) => ({
    ask: (question: string) => Promise.resolve((answered.push(question), answer)),
  });
  const no = await login.updraft(['get', 'osdf:///private/d/x', 'a'], asking('n'));
  assert.equal(no.exit, 93, no.err);
  const blind = await login.updraft(['check', '--quick', '--json']);
  assert.match(blind.out, /"rule":"token-missing"[^]*updraft login osdf:\/\/\/private/);
  const checked = await login.updraft(['check', '--quick'], asking(''));
  assert.equal(checked.exit, 0, checked.err + checked.out);
  assert.match(checked.out, /the token for data\.d expires in (20m|19m\d+s);/);
  assert.equal((await login.updraft(['login', '--forget', 'all'])).exit, 0);
  const yes = await login.updraft(['get', 'osdf:///private/d/x', 'a'], asking('y'));
  assert.equal(yes.exit, 0, yes.err);
  const put = await login.updraft(['put', 'f', 'osdf:///inbox/me/f'], asking(''));
  assert.equal(put.exit, 0, put.err);
  assert.match(put.err, /logged in; may read \/inbox\/me, create \/inbox\/me\n/);
  assert.equal((await login.updraft(['login', '--forget', 'all'])).exit, 0);
  // The root of a namespace: its issuer has no say above it.
  const whole = await login.updraft(['get', '--recursive', 'osdf:///private', 'all'], asking('y'));
  assert.equal(whole.exit, 0, whole.err);
  assert.deepEqual(new Set(answered), new Set(['Log in now? [Y/n] ']));
  assert.equal(answered.length, 5);
});

test('jobs get the token of a login, and never what renews it', async (t) => {
  const login = await LoginHarness.open(t);
  assert.equal((await login.updraft(['login', 'osdf:///private'])).exit, 0);
  const job = '[train]\ncommand = "cat data/* > out"\noutputs = ["out"]\n';
  const data = '[data.d]\nurl = "osdf:///private/x"\nunpack = "none"\n';
  await writeFile(login.bench.at('updraft.toml'), `name = "x"\n${job}${data}`);
  await login.age();
  const plan = await login.updraft(['plan', '--json']);
  assert.equal(plan.exit, 0, plan.err);
  const { accessToken, refreshToken = '' } = await login.kept();
  const [file = ''] = await login.files('.token');
  assert.ok(plan.out.includes(JSON.stringify(file)), plan.out);
  assert.equal(login.count('refresh_token'), 1, 'renewed for the jobs');
  assert.equal(await readFile(file, 'utf8'), `${accessToken}\n`);
  assert.ok(!plan.out.includes(accessToken) && !plan.out.includes(refreshToken));

  const { env, cwd } = login.bench;
  const { signal } = new AbortController();
  const err: Cli['err'] = (text) => assert.fail(text);
  const cli = {
    env,
    cwd,
    clock: systemClock,
    uid: process.getuid?.() ?? 0,
    version: '0.0.0',
    signal,
    err,
  } as Cli;
  await renewTokensOf(cli, { data: [{ tokenFile: 'another' }] } as Plan);
  assert.equal(login.count('refresh_token'), 1);
  await renewTokensOf(cli, { data: [{ tokenFile: file }] } as Plan);
  assert.equal(
    login.count('refresh_token'),
    2,
    'renewed again, whatever its date, before the next local attempt',
  );
  assert.equal(await readFile(file, 'utf8'), `${(await login.kept()).accessToken}\n`);
  assert.notEqual(await readFile(file, 'utf8'), `${accessToken}\n`);
});

test('a hostile federation that names a real issuer gets no token unless the user agrees to its host', async (t) => {
  const login = await LoginHarness.open(t);
  const { host, url, issuer, env, stolen } = await hostileFederation(t, login.bench);
  const questions: string[] = [];
  const answers = (...said: string[]) => ({
    env,
    ask: (question: string) => Promise.resolve((questions.push(question), said.shift() ?? '')),
  });
  const notAsked = (): void => assert.deepEqual([login.flow.seen, stolen()], [[], []], 'nobody was asked');

  const scripted = await login.updraft(['login', url], { env });
  assert.equal(scripted.exit, 2, scripted.err);
  assert.match(scripted.err, new RegExp(`in the federation ${host}, which you have not confirmed`));
  assert.match(scripted.err, new RegExp(`updraft login ${url} --federation ${host}`));
  notAsked();
  const meant = login.bench.federation.discoveryHost;
  const mistaken = await login.updraft(['login', url, '--federation', meant], { env });
  assert.match(mistaken.err, new RegExp(`in the federation ${host}, which you have not confirmed`));
  for (const said of ['n', '']) {
    assert.equal((await login.updraft(['login', url], answers(said))).exit, 2);
    assert.equal((await login.updraft(['get', url, 'a'], answers('y', said))).exit, 2);
  }
  assert.deepEqual(
    [...new Set(questions)],
    [`send tokens from ${issuer} to the servers of the federation ${host}? [y/N] `, 'Log in now? [Y/n] '],
  );
  notAsked();

  const agreed = await login.updraft(['login', url], answers('yes'));
  assert.equal(agreed.exit, 0, agreed.err);
  assert.ok(agreed.err.includes(`login for /private of the federation ${host}, at ${issuer}\n`), agreed.err);
  assert.equal((await login.updraft(['get', url, 'b'], { env })).exit, 0);
  assert.ok(stolen().length > 0, 'the user said so');
  const again = await login.updraft(['login', `${url}/sub`], { env });
  assert.equal(again.exit, 0, 'a federation is confirmed once');
  const list = await login.updraft(['login', '--list', '--json']);
  assert.ok(list.out.includes(JSON.stringify({ federation: `https://${host}`, confirmed: true })), list.out);

  // Without its confirmation, as earlier versions left it, a login is not used.
  const count = stolen().length;
  await rm(path.join(login.folder, 'federations'));
  const withheld = await login.updraft(['get', url, 'c'], { env });
  assert.equal(withheld.exit, 93);
  assert.match(
    withheld.err,
    /your login at \S+ \(withheld: it does not say for which federation it is, and you have not/,
  );
  const job = '[train]\ncommand = "cat data/* > out"\noutputs = ["out"]\n';
  await writeFile(login.bench.at('updraft.toml'), `name = "x"\n${job}[data.d]\nurl = "${url}"\n`);
  const plan = await login.updraft(['plan', '--json'], { env });
  assert.ok(!plan.out.includes('.token'), plan.out);
  assert.equal((await login.updraft(['login', '--forget', host])).exit, 0);
  assert.deepEqual(await login.files('.json'), []);
  assert.equal(stolen().length, count);
});

test('a token that was revoked is renewed by its login, whatever is asked', async (t) => {
  const login = await LoginHarness.open(t);
  const { bench } = login;
  assert.equal((await login.updraft(['login', 'osdf:///inbox/me', '--write'])).exit, 0);
  await writeFile(bench.at('f'), 'new');
  const flow = bench.federation.logins('/inbox');
  const renewals = (): number => flow.seen.filter((one) => one.startsWith('refresh_token')).length;
  const uses = ['get URL got', 'stat URL', 'ls osdf:///inbox/me', 'cat URL', 'put f URL2', 'rm URL2'];
  for (const [index, text] of uses.entries()) {
    await bench.publish('inbox/me/x', 'hello');
    await bench.publish('inbox/me/revoked', 'hello');
    await bench.federation.evict();
    await bench.trouble('cache-1: expire-token after 1B on revoked first 1');
    assert.equal((await login.updraft(['cat', 'osdf:///inbox/me/revoked'])).exit, 0);
    const words = text.replace('URL2', 'osdf:///inbox/me/y').replace('URL', 'osdf:///inbox/me/x').split(' ');
    const { exit, err } = await login.updraft(words);
    assert.equal(exit, 0, `${text}: ${err}`);
    assert.equal(renewals(), index + 1, text);
    await bench.federation.trouble.clear();
  }
});
