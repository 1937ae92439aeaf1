import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ObjectHarness } from './object-harness.ts';

interface Got {
  servers: { server: string; bytes: number; preferredBy?: string }[];
  leftOut?: object[];
}

const url = 'osdf:///demo/x';

/** The caches of a harness, by their names in the mini federation. */
async function cacheHosts(harness: ObjectHarness): Promise<string[]> {
  const { out } = await harness.updraft(['stat', '--json', url]);
  const { servers } = JSON.parse(out) as { servers: { server: string }[] };
  return servers.map(({ server }) => server);
}

test('get uses a preferred cache first, falls back if it fails, asks no avoided cache, and reports whose choice it was', async (t) => {
  const harness = await ObjectHarness.open(t, { caches: 3 });
  const bytes = await harness.publish('demo/x', 1000);
  const [first = '', second = '', third = ''] = await cacheHosts(harness);
  const get = async (options: string[], env: Record<string, string> = {}): Promise<Got> => {
    const done = await harness.updraft(['get', '--json', '--overwrite', ...options, url], {
      env: { ...harness.env, ...env },
    });
    assert.equal(done.exit, 0, done.err + done.out);
    assert.ok(bytes.equals(await readFile(harness.at('x'))));
    return JSON.parse(done.out) as Got;
  };
  const from = ({ servers }: Got) => servers.map(({ server, preferredBy }) => [server, preferredBy]);
  assert.deepEqual(from(await get([])), [[first, undefined]]);
  assert.deepEqual(from(await get(['--cache', third])), [[third, '--cache']]);
  // Port 1 refuses connections, and the URL's scheme and port count.
  const fallen = await get(['--cache', 'https://127.0.0.1:1', '--cache', `https://${second}`]);
  assert.deepEqual(from(fallen), [[second, '--cache']]);
  const avoided = await get(['--avoid-cache', first]);
  assert.deepEqual(from(avoided), [[second, undefined]]);
  assert.deepEqual(avoided.leftOut, [{ server: first, by: '--avoid-cache', why: 'avoided' }]);
  assert.deepEqual(from(await get([], { OSDF_NEAREST_CACHE: `${third},+` })), [
    [third, 'OSDF_NEAREST_CACHE'],
  ]);
  assert.deepEqual(from(await get(['--cache', second], { NEAREST_CACHE: third })), [[second, '--cache']]);
  const file = harness.at('.config/pelican/pelican.yaml');
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `Client:\n  PreferredCaches: ["https://${second}"]\n`);
  assert.deepEqual(from(await get([], { HOME: harness.cwd })), [[second, `${file}:2`]]);

  const words = await harness.updraft(['get', '--overwrite', '--cache', third, '--avoid-cache', first, url]);
  assert.match(
    words.out,
    new RegExp(
      `from ${third} \\(preferred by --cache\\); not asked: ${first} \\(avoided by --avoid-cache\\)`,
    ),
  );
  const stat = await harness.updraft(['stat', '--cache', third, '--avoid-cache', first, url]);
  assert.match(stat.out, new RegExp(`^cache +${third} .*; preferred by --cache$`, 'm'));
  assert.match(stat.out, new RegExp(`^not asked +${first} +avoided by --avoid-cache$`, 'm'));
});

test("a list in Pelican's form without + asks no other server, not even the origin, and the message says how to change that", async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/x', 1000);
  const only = { env: { ...harness.env, NEAREST_CACHE: 'https://127.0.0.1:1' } };
  const { exit, err } = await harness.updraft(['get', url], only);
  assert.equal(exit, 92, err);
  assert.match(err, /fix: only the caches of NEAREST_CACHE were asked: end the list with "\+"/);
  const wrong = await harness.updraft(['get', url], { env: { ...harness.env, NEAREST_CACHE: 'a b@c' } });
  assert.match(wrong.err, /NEAREST_CACHE: "b@c" is not a cache\n +fix: write HOST, HOST:PORT or https:/);
  for (const word of ['a,b', 'x@y', '+'])
    assert.equal((await harness.updraft(['get', '--cache', word, url])).exit, 2);
  const both = await harness.updraft(['cat', '--cache', 'a', '--avoid-cache', 'a', url]);
  assert.deepEqual([both.exit, /a is given to both --cache and --avoid-cache/.test(both.err)], [2, true]);
});

test('the token of a protected object goes to no cache from the environment that the director does not name', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('private/x', 1000);
  const token = await harness.tokenEnv({ namespace: '/private' });
  const env = { ...token, NEAREST_CACHE: '127.0.0.1:1,+' };
  const { exit, out, err } = await harness.updraft(['get', 'osdf:///private/x'], { env });
  assert.equal(exit, 0, err);
  assert.match(
    out,
    /not asked: 127\.0\.0\.1:1 \(preferred by NEAREST_CACHE, but the director does not list it/,
  );
  const alone = await harness.updraft(['get', '--overwrite', 'osdf:///private/x'], {
    env: { ...token, PELICAN_NEAREST_CACHE: '127.0.0.1:1' },
  });
  assert.equal(alone.exit, 92, alone.err);
  assert.match(alone.err, /127\.0\.0\.1:1 gets no token: PELICAN_NEAREST_CACHE prefers it/);
});
