import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { chooseServers, mergedChoice, pelicanList, preferCaches, readCacheChoice } from './cache-choice.ts';
import type { CacheChoice, Located, LocateOptions, ObjectServer } from './located.ts';

const at = (host: string, kind: ObjectServer['kind'] = 'cache'): ObjectServer => ({
  url: `https://${host}/prefix/ns/x`,
  host,
  kind,
});
const named = [at('one:8443'), at('two:8443'), at('two:9443')];
const open = { path: '/ns/x', requireToken: false, isTrustworthy: (url: string) => url.startsWith('https:') };

/** The choice that options or a job file make. */
async function chosen(caches: string[], avoidCaches: string[] = []): Promise<CacheChoice> {
  let passed: LocateOptions = {};
  const locate = (_: string, options: LocateOptions = {}) => {
    passed = options;
    return Promise.resolve({} as Located);
  };
  const names = { caches, avoidCaches, isForObject: true };
  const by = { caches: '--cache', avoidCaches: '--avoid-cache' };
  await preferCaches({ locate, ca: undefined }, names, by).locate('osdf:///ns/x');
  return passed.cacheChoice!;
}

const hosts = (servers: readonly ObjectServer[]): string[] => servers.map(({ host }) => host);
const from = (env: Record<string, string>, cwd = '/nonexistent') => readCacheChoice({ env, cwd });

test("preferred caches come first, at the director's URL for them, and the others follow", async () => {
  const choice = await chosen(['two:9443', 'https://near.example:8443']);
  const { servers, leftOut } = chooseServers(named, choice, open);
  assert.deepEqual(hosts(servers), ['two:9443', 'near.example:8443', 'one:8443', 'two:8443']);
  assert.deepEqual(servers[0], { ...at('two:9443'), preferredBy: '--cache' });
  assert.equal(servers[1]?.url, 'https://near.example:8443/ns/x');
  assert.deepEqual(leftOut, []);
  const anyPort = chooseServers(named, await chosen(['two']), open);
  assert.deepEqual(hosts(anyPort.servers), ['two:8443', 'two:9443', 'one:8443']);
});

test('avoided caches are not asked, even if preferred, and the source of that choice is reported', async () => {
  const choice = mergedChoice(
    await chosen([], ['two:8443']),
    pelicanList(['two:8443', 'one', '+'], 'NEAREST_CACHE'),
  );
  const { servers, leftOut } = chooseServers(named, choice, open);
  assert.deepEqual(hosts(servers), ['one:8443', 'two:9443']);
  assert.deepEqual(leftOut, [{ server: 'two:8443', by: '--avoid-cache', why: 'avoided' }]);
});

test('a cache that the director does not name is asked for a protected object only if named for that object', async () => {
  const secret = { ...open, requireToken: true };
  const ambient = chooseServers(named, pelicanList(['near.example:8443', '+'], 'NEAREST_CACHE'), secret);
  assert.deepEqual(hosts(ambient.servers), hosts(named));
  assert.deepEqual(ambient.leftOut, [{ server: 'near.example:8443', by: 'NEAREST_CACHE', why: 'no-token' }]);
  const own = chooseServers(named, await chosen(['near.example:8443']), secret);
  assert.equal(own.servers[0]?.host, 'near.example:8443');
  const plain = chooseServers(named, await chosen(['http://near.example']), secret);
  assert.deepEqual(hosts(plain.servers), hosts(named));
});

test("a list in Pelican's form without + names the only caches to ask, and + is allowed at its end", () => {
  const only = from({ NEAREST_CACHE: 'one:8443, https://near.example:8443' });
  assert.deepEqual(hosts(chooseServers(named, only, open).servers), ['one:8443', 'near.example:8443']);
  const first = from({ PELICAN_CLIENT_PREFERREDCACHES: '"https://two:9443" "+"' });
  assert.deepEqual(hosts(chooseServers(named, first, open).servers), ['two:9443', 'one:8443', 'two:8443']);
  assert.throws(() => from({ NEAREST_CACHE: '+,one' }), {
    kind: 'servers-unreachable',
    message: /^NEAREST_CACHE: "\+" is allowed only at the end/,
  });
});

test('the first place that names caches counts, and a mistake there is reported with its place', async (t) => {
  const cwd = await temporaryFolder(t);
  const file = path.join(cwd, '.config/pelican/pelican.yaml');
  await mkdir(path.dirname(file), { recursive: true });
  const yaml = (lines: string[]) => writeFile(file, ['Logging:', '  Level: debug', ...lines, ''].join('\n'));
  const first = (env: Record<string, string> = {}): string => {
    const { preferred, only } = from({ HOME: cwd, ...env }, cwd);
    return `${preferred.map(({ base, by }) => `${base} ${by}`).join('; ')}${only ? ' only' : ''}`;
  };
  assert.equal(first(), '');
  await yaml([
    'Client:',
    '  WorkerCount: 3',
    '  PreferredCaches: # near',
    '  - https://a:1 # first',
    '  - "b:2"',
    '  - +',
  ]);
  assert.equal(first(), `https://a:1 ${file}:5; https://b:2 ${file}:5`);
  await yaml(['Client:', '    PreferredCaches: ["https://c:1",', "      '+']", 'Xrootd:', '    Port: 1']);
  assert.equal(first(), `https://c:1 ${file}:4`);
  assert.equal(
    first({ STASH_NEAREST_CACHE: 'd:1', PELICAN_CLIENT_PREFERREDCACHES: 'e:1' }),
    'https://d:1 STASH_NEAREST_CACHE only',
  );
  await writeFile(
    path.join(cwd, '.job.ad'),
    'A = 1\nPelicanCfg_Client_PreferredCaches = { "https://f:1", "+" }\n',
  );
  const byAd = 'PelicanCfg_Client_PreferredCaches of the job';
  assert.equal(first({ NEAREST_CACHE: 'd:1', _CONDOR_JOB_AD: '.job.ad' }), `https://f:1 ${byAd}`);
  // Outside of a job it is an ordinary file.
  assert.equal(first({ NEAREST_CACHE: 'd:1' }), 'https://d:1 NEAREST_CACHE only');
  assert.equal(
    first({ UPDRAFT_CACHES: 'g:1 h:2' }),
    'https://g:1 UPDRAFT_CACHES; https://h:2 UPDRAFT_CACHES',
  );
  assert.deepEqual(from({ UPDRAFT_AVOID_CACHES: 'bad.example' }).avoided[0]?.hostname, 'bad.example');

  await writeFile(path.join(cwd, '.job.ad'), 'PelicanCfg_Client_PreferredCaches = strcat("a", "b")\n');
  assert.throws(() => first({ _CONDOR_JOB_AD: '.job.ad' }), {
    message: /^PelicanCfg_Client_PreferredCaches of the job is strcat/,
  });
  await writeFile(path.join(cwd, '.job.ad'), '');
  await yaml(['Client:', '  PreferredCaches: {a: b}']);
  assert.throws(() => first(), { message: new RegExp(`^${file}:4: "\\{a:" is not a cache`) });
  for (const wrong of ['user:pw@host', 'https://host/?q', 'ftp://host', 'two hosts/x'])
    assert.throws(() => first({ OSDF_NEAREST_CACHE: wrong }), {
      message: /^OSDF_NEAREST_CACHE: .* is not a cache/,
    });
});
