import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { jumpingClock } from '../../../test/federation/jumping-clock.ts';
import { signedToken } from '../../../test/federation/signed-token.ts';
import { Fault } from '../fault.ts';
import type { StoredLogin } from './login/login-store.ts';
import { createTokens, readClaims, type TokenChoice, type TokenUse } from './token.ts';

const use: TokenUse = {
  verb: 'GET',
  path: '/ns/dir/x',
  namespace: '/ns',
  issuers: ['https://issuer.example'],
  to: 'https://cache.example:8443/ns/dir/x',
  federation: {
    url: 'https://fed.example',
    isUsersOwn: true,
    servers: ['https://director.example', 'https://cache.example:8443/ns/dir/x'],
  },
};
/** A user ID that no machine has, so that a token of the user who runs the tests is never found. */
const uid = 4_000_000_001;
const clock = jumpingClock();
const inAnHour = clock.now() / 1000 + 3600;
const anHourAgo = clock.now() / 1000 - 3600;

function token(name: string, claims: Record<string, unknown> = {}): string {
  return signedToken({
    sub: name,
    iss: 'https://issuer.example',
    scope: 'storage.read:/dir',
    exp: inAnHour,
    ...claims,
  });
}

async function context(t: TestContext, files: Record<string, string>, env: Record<string, string> = {}) {
  const cwd = await mkdtemp(path.join(os.tmpdir(), 'updraft-token-'));
  t.after(() => rm(cwd, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(cwd, name)), { recursive: true });
    await writeFile(path.join(cwd, name), text);
  }
  const tokens = createTokens({ env: { XDG_STATE_HOME: cwd, ...env }, cwd, uid, clock });
  return { cwd, find: (choice: TokenChoice = {}, wanted: TokenUse = use) => tokens.find(wanted, choice) };
}

async function failure(found: Promise<string>): Promise<Fault> {
  try {
    await found;
  } catch (error) {
    assert.ok(error instanceof Fault, String(error));
    return error;
  }
  assert.fail('a token was found');
}

test('places are searched in the documented order', async (t) => {
  const named = ['variable', 'file', 'TOKEN', 'scitokens', 'aaa'] as const;
  const [variable, file, other, scitokens, aaa] = named.map((name) => token(name));
  const files = {
    file: file!,
    other: other!,
    '.condor_creds/scitokens.use': scitokens!,
    '.condor_creds/aaa.use': aaa!,
  };
  const all = await context(t, files);
  const env: Record<string, string> = {
    BEARER_TOKEN: variable!,
    BEARER_TOKEN_FILE: 'file',
    TOKEN: 'other',
  };
  for (const [dropped, expected] of [
    ['', variable],
    ['BEARER_TOKEN', file],
    ['BEARER_TOKEN_FILE', other],
    ['TOKEN', scitokens],
  ] as const) {
    // oxlint-disable-next-line typescript/no-dynamic-delete -- one variable after the other goes away
    delete env[dropped];
    const tokens = createTokens({ env, cwd: all.cwd, uid, clock });
    assert.equal(await tokens.find(use, {}), expected);
  }
  await rm(path.join(all.cwd, '.condor_creds/scitokens.use'));
  assert.equal(await all.find(), aaa);
  await rm(path.join(all.cwd, '.condor_creds/aaa.use'));
  assert.equal((await failure(all.find())).kind, 'token-missing');
});

test('a file named by the user is the only place; a credential named by the URL comes first', async (t) => {
  const mine = token('mine');
  const igwn = token('igwn');
  const env = { BEARER_TOKEN: token('environment'), _CONDOR_CREDS: 'creds' };
  const { find, cwd } = await context(t, { mine, 'creds/igwn_ligo.use': igwn }, env);
  assert.equal(await find({ tokenFile: 'mine' }), mine);
  assert.equal(await find({ credential: 'igwn.ligo' }), igwn);
  assert.equal(await find({ credential: 'unknown' }), env.BEARER_TOKEN);
  const missing = await failure(find({ tokenFile: 'nothing-here' }));
  assert.equal(missing.kind, 'token-missing');
  assert.match(missing.message, new RegExp(path.join(cwd, 'nothing-here')));
  const { federation, ...plain } = use;
  assert.equal((await failure(find({ credential: 'unknown' }, plain))).kind, 'token-missing');
  assert.notEqual(federation, undefined);
});

test('files may be raw or JSON; garbage and text that would break a header are not tokens', async (t) => {
  const raw = token('raw');
  const { find } = await context(t, {
    raw: `\n${raw}\n`,
    json: JSON.stringify({ access_token: raw, expires_in: 1 }),
    bad: 'two\r\nlines',
    broken: '{"access_token":',
    empty: '',
  });
  assert.equal(await find({ tokenFile: 'raw' }), raw);
  assert.equal(await find({ tokenFile: 'json' }), raw);
  for (const tokenFile of ['bad', 'broken', 'empty', '.'])
    assert.equal((await failure(find({ tokenFile }))).kind, 'token-missing');
});

test('the first token that is unexpired, from the issuer and for the path wins over earlier ones', async (t) => {
  const right = token('right');
  const files = {
    '.condor_creds/a.use': token('expired', { exp: anHourAgo }),
    '.condor_creds/b.use': token('issuer', { iss: 'https://other.example' }),
    '.condor_creds/c.use': token('path', { scope: 'storage.read:/di storage.read:/elsewhere' }),
    '.condor_creds/d.use': token('verb', { scope: 'storage.create:/' }),
    '.condor_creds/e.use': 'opaque-text',
    '.condor_creds/f.use': right,
    '.condor_creds/.hidden': token('hidden'),
  };
  const { find, cwd } = await context(t, files);
  assert.equal(await find(), right);
  await rm(path.join(cwd, '.condor_creds/f.use'));
  assert.equal(
    await find(),
    files['.condor_creds/c.use'],
    'the first current one of the issuer is the last resort',
  );
});

test('scopes of both token profiles cover whole path components', async (t) => {
  const last = token('last-resort-first', { scope: '' });
  const chosen = async (
    claims: Record<string, unknown>,
    wanted: Partial<TokenUse> = {},
  ): Promise<boolean> => {
    const candidate = token('candidate', claims);
    const { find } = await context(t, { '.condor_creds/a.use': last, '.condor_creds/b.use': candidate });
    return (await find({}, { ...use, ...wanted })) === candidate;
  };
  assert.equal(await chosen({ scope: 'openid storage.read:/' }), true);
  assert.equal(await chosen({ scope: 'storage.read:/dir/x' }), true);
  assert.equal(await chosen({ scope: 'storage.read:/dir/' }), true);
  assert.equal(await chosen({ scope: 'storage.read:/di' }), false);
  assert.equal(await chosen({ scope: 'read:/dir', ver: 'scitokens:2.0', 'wlcg.ver': undefined }), true);
  assert.equal(await chosen({ scope: 'write:/dir' }, { verb: 'PUT' }), true);
  assert.equal(await chosen({ scope: 'storage.modify:/dir' }, { verb: 'PUT' }), true);
  assert.equal(await chosen({ scope: 'storage.read:/dir' }, { verb: 'PUT' }), false);
  assert.equal(await chosen({ scope: 'storage.read:/x' }, { basePath: '/ns/dir' }), true);
  assert.equal(await chosen({ iss: 'https://issuer.example/' }), true);
});

test('a token that was replaced is read again', async (t) => {
  const { find, cwd } = await context(t, { '.condor_creds/scitokens.use': token('old') });
  await find();
  const renewed = token('new');
  await writeFile(path.join(cwd, '.condor_creds/scitokens.use'), renewed);
  assert.equal(await find(), renewed);
});

test('an expired token is named by place and time, never shown', async (t) => {
  const old = token('old', { exp: anHourAgo });
  const { find, cwd } = await context(t, { old }, { BEARER_TOKEN_FILE: 'old' });
  const fault = await failure(find());
  assert.equal(fault.kind, 'token-expired');
  assert.match(fault.message, /BEARER_TOKEN_FILE \(.*old\) expired at 2025-12-31T23:00:00\.000Z/);
  assert.match(fault.message, new RegExp(cwd));
  assert.ok(!`${fault.message} ${fault.fix} ${fault.about}`.includes(old.slice(0, 20)));
});

test('without any token the message names the places searched and how to get one', async (t) => {
  const { find, cwd } = await context(t, {});
  const fault = await failure(find());
  assert.equal(fault.kind, 'token-missing');
  assert.match(fault.message, new RegExp(`/tmp/bt_u${uid}`));
  assert.match(fault.message, new RegExp(path.join(cwd, '.condor_creds', 'scitokens.use')));
  assert.match(fault.fix ?? '', /storage\.read from https:\/\/issuer\.example.*token_file.*--token-file/);
});

/** The columns of SECURITY.md's table. */
const federations = {
  'the OSDF': { url: 'https://fed.example', isUsersOwn: true },
  'a federation that you confirmed': { url: 'https://campus.example:8444', isUsersOwn: false },
  'any other federation': { url: 'https://evil.example', isUsersOwn: false },
};

/** How a token that is described by a row comes to be there: the files, the environment and the choice of the user. */
type Case = (url: string) => { token: string; env?: Record<string, string>; choice?: TokenChoice };

const found =
  (claims: (url: string) => Record<string, unknown>): Case =>
  (url) => {
    const made = token('found', claims(url));
    return { token: made, env: { BEARER_TOKEN: made } };
  };
const other = token('named', { iss: 'https://other.example' });

/** The cases of each row, by a part of its first cell. */
const cases: Record<string, Case[]> = {
  'named for the object': [
    () => ({ token: 'opaque', choice: { tokenFile: 'opaque' } }),
    () => ({ token: other, choice: { tokenFile: 'other' }, env: { BEARER_TOKEN: token('found') } }),
    () => ({ token: 'opaque', choice: { credential: 'box' }, env: { _CONDOR_CREDS: 'creds' } }),
    () => ({ token: 'opaque', env: { UPDRAFT_BEARER_TOKEN_FILE: 'opaque', BEARER_TOKEN: token('found') } }),
  ],
  'of a login': [() => ({ token: 'of-login' })],
  'is that federation': [found((url) => ({ iss: `${url}/issuer` })), found((url) => ({ aud: ['x', url] }))],
  'for any audience': [
    found(() => ({})),
    found(() => ({ aud: 'https://wlcg.cern.ch/jwt/v1/any' })),
    (url) => {
      const { token: made } = found(() => ({ sub: 'pool' }))(url);
      return { token: made, env: { TOKEN: 'pool-token' } };
    },
  ],
  "one of the object's servers": [found(() => ({ aud: 'cache.example:8443' }))],
  'for another audience': [found(() => ({ aud: 'https://elsewhere.example' }))],
  'of another issuer': [
    found(() => ({ iss: 'https://other.example' })),
    found((url) => ({ iss: 'https://other.example', aud: url })),
  ],
  'not a JSON Web Token': [() => ({ token: 'opaque-secret', env: { BEARER_TOKEN: 'opaque-secret' } })],
};

const security = readFileSync(path.join(import.meta.dirname, '../../../SECURITY.md'), 'utf8');
const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
const rule = [...security.matchAll(/^\|.*(?:sent|withheld) \|$/gm)].map(([line]) => cellsOf(line));
const columns = cellsOf(/^\| token \|.*$/m.exec(security)?.[0] ?? '').slice(1);

test('each row of the table in SECURITY.md has cases, and each column a federation', () => {
  assert.deepEqual(columns, Object.keys(federations));
  assert.equal(rule.length, Object.keys(cases).length);
});

for (const [row = '', ...cells] of rule)
  test(`a token, ${row}: ${cells.join(', ')}`, async (t) => {
    const me = statSync('/proc/self').uid;
    const [, tried = []] = Object.entries(cases).find(([part]) => row.includes(part)) ?? [];
    assert.ok(tried.length > 0, 'the row has cases');
    const files = {
      opaque: 'opaque',
      other,
      'creds/box.use': 'opaque',
      'pool-token': token('found', { sub: 'pool' }),
    };
    for (const [at, column] of columns.entries())
      for (const makeCase of tried) {
        const theirs = federations[column as keyof typeof federations];
        const made = makeCase(theirs.url);
        const { cwd } = await context(t, files);
        const env = { XDG_STATE_HOME: cwd, XDG_RUNTIME_DIR: cwd, ...made.env };
        const { issuer = '' } = readClaims(made.token) ?? {};
        // What the director claims: any issuer, except in the row about others.
        const issuers = ['https://issuer.example', ...(issuer.startsWith(theirs.url) ? [issuer] : [])];
        const login = { issuer: issuers[0]!, scopes: ['storage.read:/'], accessToken: 'of-login' };
        const loginTokens = {
          isConfirmed: (url: string) => Promise.resolve(url === 'https://campus.example:8444'),
          find: () => Promise.resolve(row.startsWith('of a login') ? { login: login as StoredLogin } : {}),
        };
        // A job has no logins, but the confirmations: the login's token is named for its object.
        const places = row.startsWith('of a login')
          ? { here: { loginTokens } }
          : { here: { loginTokens }, 'in a job': { confirmed: ['https://campus.example:8444'] } };
        for (const [place, more] of Object.entries(places)) {
          const tokens = createTokens({ env, cwd, uid: me, clock, ...more });
          const wanted = { ...use, issuers, federation: { ...use.federation!, ...theirs } };
          const sent = await tokens.find(wanted, made.choice ?? {}).catch((error: unknown) => error as Fault);
          const name = `${place}, ${column}: ${JSON.stringify(readClaims(made.token) ?? made.token)}`;
          if (cells[at] === 'sent') assert.equal(sent, made.token, name);
          else {
            assert.ok(sent instanceof Fault && sent.kind === 'token-missing', name);
            assert.ok(!`${sent.message} ${sent.fix}`.includes(made.token), name);
            assert.match(
              sent.message,
              /none was found; looked at: .+ \(withheld: it (is|does not say) /,
              name,
            );
          }
        }
      }
  });

test('a token that is withheld is named with the reason, never shown', async (t) => {
  const theirs = token('other', { iss: 'https://other.example' });
  const { find } = await context(t, {}, { BEARER_TOKEN: theirs });
  const fault = await failure(find());
  assert.match(fault.message, /looked at: BEARER_TOKEN \(withheld: it is from https:\/\/other\.example\), /);
  assert.match(fault.fix ?? '', /^get a token .* from https:\/\/issuer\.example.*--token-file/);
  assert.ok(!fault.message.includes(theirs));
  assert.equal((await failure(find({}, { ...use, issuers: [] }))).kind, 'token-missing');
});

test('in a shared folder, only a file that is private to the user is used', async (t) => {
  const me = statSync('/proc/self').uid;
  const { cwd } = await context(t, { [`bt_u${me}`]: token('mine'), [`bt_u${me + 1}`]: token('theirs') });
  const find = (user: number): Promise<string> =>
    createTokens({ env: { XDG_RUNTIME_DIR: cwd }, cwd, uid: user, clock }).find(use, {});
  await chmod(path.join(cwd, `bt_u${me}`), 0o600);
  assert.equal(await find(me), token('mine'));
  await chmod(path.join(cwd, `bt_u${me}`), 0o602);
  assert.match(
    (await failure(find(me))).message,
    /bt_u\d+ \(not used: other users own it or can write to it\)/,
  );
  assert.match(
    (await failure(find(me + 1))).message,
    /other users own it/,
    'the file is mine, the user is not',
  );
});
