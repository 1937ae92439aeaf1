import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@updraft/base';
import { waitForChange } from '@updraft/base/processes';
import { Fault } from '@updraft/account/fault';
import { makeTarGz } from '../agent/tar.ts';
import { fastClock } from '../fast-clock.ts';
import { ended, ObjectHarness } from './object-harness.ts';

test('an object becomes a file, is verified, and is not fetched twice', async (t) => {
  const harness = await ObjectHarness.open(t);
  const bytes = await harness.publish('demo/set.bin', 3_000_000);
  const first = await harness.updraft(['get', 'osdf:///demo/set.bin']);
  assert.equal(first.exit, 0, first.err);
  assert.match(first.out, /^set\.bin: 3 MB in .*; from 127\.0\.0\.1:\d+.*; verified: digest\n$/);
  assert.deepEqual(await readFile(harness.at('set.bin')), bytes);
  const again = await harness.updraft(['get', 'osdf:///demo/set.bin', 'osdf:///demo/set.bin', './']);
  assert.match(again.out, /^set\.bin: 3 MB, already there; verified: digest\n$/);
  assert.deepEqual(await readdir(harness.cwd), ['set.bin']);
});

test('a folder is fetched with every name in it, including empty objects', async (t) => {
  const harness = await ObjectHarness.open(t);
  const names = ['a, b.txt', 'c;d.txt', 'deep/er/ü ñ 漢.txt', '50% #1?.txt', 'empty', "it's.txt"];
  for (const name of names) await harness.publish(`demo/all/${name}`, name === 'empty' ? '' : name);
  const { exit, out, err } = await harness.updraft([
    'get',
    '-r',
    'osdf:///demo/all',
    'copy',
    '--parallel',
    '2',
  ]);
  assert.equal(exit, 0, err);
  assert.equal(out.trim().split('\n').length, names.length);
  for (const name of names)
    assert.equal(await readFile(harness.at(`copy/${name}`), 'utf8'), name === 'empty' ? '' : name);
  // The same command again finds the same files.
  const again = await harness.updraft(['get', '-r', 'osdf:///demo/all', 'copy']);
  assert.equal(again.exit, 0, again.err);
  assert.deepEqual(await readdir(harness.cwd), ['copy']);
});

test('a name as long as the file system allows works', async (t) => {
  const harness = await ObjectHarness.open(t);
  const name = 'ü'.repeat(127);
  await harness.publish(`demo/${name}`, 'x');
  const { exit, err } = await harness.updraft(['get', `osdf:///demo/${name}`]);
  assert.equal(exit, 0, err);
  assert.deepEqual(await readdir(harness.cwd), [name]);
  const env = await harness.tokenEnv({ namespace: '/inbox' });
  const put = await harness.updraft(['put', name, 'osdf:///inbox/'], { env });
  assert.equal(put.exit, 0, put.err);
});

test('a folder that is requested as an object is reported as a folder', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/all/a', 'a');
  const { exit, err } = await harness.updraft(['get', 'osdf:///demo/all'], { clock: fastClock(50) });
  assert.equal(exit, 97, err);
  assert.match(err, /osdf:\/\/\/demo\/all is a folder[^]*fix: updraft get --recursive osdf:\/\/\/demo\/all/);
});

test('one missing object does not stop the others, and is named at the end', async (t) => {
  const harness = await ObjectHarness.open(t);
  for (const name of ['a', 'b']) await harness.publish(`demo/${name}`, name);
  const words = ['get', 'osdf:///demo/a', 'osdf:///demo/none', 'osdf:///demo/b', 'here/'];
  const { exit, err } = await harness.updraft(words);
  assert.equal(exit, 96);
  assert.match(err, /here\/none FAILED: .*404/);
  assert.match(err, /2 of 3 done; not done:\n {2}osdf:\/\/\/demo\/none \(object-missing\)/);
  assert.deepEqual((await readdir(harness.at('here'))).sort(), ['a', 'b']);
});

test('with --json each object is one line, including those that failed', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/a', 'abc');
  await harness.trouble('cache-1: 404 on a first 1');
  const { exit, out, err } = await harness.updraft([
    'get',
    '--json',
    'osdf:///demo/a',
    'osdf:///demo/none',
    './',
  ]);
  assert.equal(exit, 96);
  assert.equal(err, '');
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const good = lines.find(({ url }) => url === 'osdf:///demo/a')!;
  assert.deepEqual([good['bytes'], good['verified'], good['target']], [3, 'digest', harness.at('a')]);
  assert.equal((good['setbacks'] as { kind: string }[])[0]?.kind, 'object-missing');
  assert.equal((good['servers'] as unknown[]).length, 1);
  const bad = lines.find(({ url }) => url === 'osdf:///demo/none')!;
  assert.deepEqual((bad['error'] as { exit: number }).exit, 96);
});

test('tokens are searched for, and what is wrong with them is reported without showing them', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('private/x', 'secret');
  const get = ['get', 'osdf:///private/x', '--overwrite'];
  const none = await harness.updraft(get);
  assert.equal(none.exit, 93);
  assert.match(none.err, /\/private asks for a token and none was found; looked at: /);
  const env = await harness.tokenEnv({ namespace: '/private' });
  assert.equal((await harness.updraft(get, { env })).exit, 0);
  assert.equal((await harness.updraft([...get, '--token-file', env['BEARER_TOKEN_FILE']!])).exit, 0);
  const old = await harness.updraft(get, {
    env: await harness.tokenEnv({ namespace: '/private', expiresInSeconds: -60 }),
  });
  assert.equal(old.exit, 95);
  assert.match(
    old.err,
    /^x FAILED: the token for \/private from BEARER_TOKEN_FILE .* expired at [^;]*\n {2}fix: /,
  );
  const other = await harness.updraft(get, {
    env: await harness.tokenEnv({ namespace: '/private', scope: 'storage.read:/elsewhere' }),
    clock: fastClock(20),
  });
  assert.equal(other.exit, 94, other.err);
  assert.match(
    other.err,
    /token has no scope for read of \/x[^]*fix: `updraft login osdf:\/\/\/private`, or get a token with scope storage\.read from https:/,
  );
  for (const { out, err } of [none, old, other]) assert.doesNotMatch(out + err, /eyJ/);
});

test('a file that holds something else is left alone unless the user allows overwriting', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/x', 'new');
  await writeFile(harness.at('x'), 'mine, and longer');
  const { exit, err } = await harness.updraft(['get', 'osdf:///demo/x']);
  assert.equal(exit, 2);
  assert.match(err, /x exists and is not osdf:\/\/\/demo\/x\n.*--overwrite/);
  assert.equal(await readFile(harness.at('x'), 'utf8'), 'mine, and longer');
  assert.equal((await harness.updraft(['get', 'osdf:///demo/x', '--overwrite'])).exit, 0);
  assert.equal(await readFile(harness.at('x'), 'utf8'), 'new');
});

test('a target that cannot be written to is named', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/x', 'new');
  await writeFile(harness.at('file'), '');
  const { exit, err } = await harness.updraft(['get', 'osdf:///demo/x', 'file/below/']);
  assert.equal(exit, 108);
  assert.ok(err.includes(harness.at('file/below')), err);
});

test('lack of disk space is found before anything is fetched', async (t) => {
  const disk = await mkdtemp(path.join(os.tmpdir(), 'updraft-small-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).status === 0;
  t.after(async () => {
    if (mounted) spawnSync('umount', ['-l', disk]);
    await rm(disk, { recursive: true, force: true });
  });
  if (!mounted) {
    t.skip('mounting a small tmpfs needs root');
    return;
  }
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/x', 2_000_000);
  const { exit, err } = await harness.updraft(['get', 'osdf:///demo/x', `${disk}/`]);
  assert.equal(exit, 107);
  assert.match(err, /2,000,000 bytes needed, [\d,]+ free/);
  assert.deepEqual(await readdir(disk), []);
});

test('archives are unpacked as they arrive, and only complete ones appear', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/set.tar.gz', makeTarGz({ 'a/1': 'one', 'a/2': 'two' }));
  await harness.publish('demo/other.tar', makeTarGz({ a: 'a' }));
  const good = await harness.updraft(['get', '--unpack', 'osdf:///demo/set.tar.gz', 'set']);
  assert.equal(good.exit, 0, good.err);
  assert.match(good.out, /verified: digest; 2 files \(6 B\) unpacked into set/);
  assert.equal(await readFile(harness.at('set/a/1'), 'utf8'), 'one');
  const named = await harness.updraft(['get', '--unpack', 'osdf:///demo/set.tar.gz', '--into', 'named']);
  assert.equal(named.exit, 0, named.err);
  assert.equal(await readFile(harness.at('named/a/2'), 'utf8'), 'two');
  const bad = await harness.updraft(['get', 'osdf:///demo/other.tar', '--unpack=tar', '--into', 'bad']);
  assert.equal(bad.exit, 104, bad.err);
  assert.deepEqual(await readdir(harness.at('bad')), []);
});

test('an archive that is wrong comes once more, from another cache; wrong in the same way, the SHA-256 is', async (t) => {
  const harness = await ObjectHarness.open(t);
  const bytes = await harness.publish('demo/set.tar.gz', makeTarGz({ 'a/1': 'one', 'a/2': 'two' }));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const get = (hash: string, into: string) => {
    const proof = hash === '' ? [] : ['--sha256', hash];
    return harness.updraft(['get', '--unpack', ...proof, 'osdf:///demo/set.tar.gz', '--into', into]);
  };
  const wrong = await get('0'.repeat(64), 'wrong');
  assert.equal(wrong.exit, 89, wrong.err);
  assert.match(wrong.err, new RegExp(`is ${sha256}, should be 0{64}; \\S+ and \\S+ have the same`));
  assert.deepEqual(await readdir(harness.at('wrong')), []);
  await harness.trouble('cache-1: corrupt at 20 on set.tar.gz');
  const good = await get(sha256, 'good');
  assert.equal(good.exit, 0, good.err);
  assert.equal(await readFile(harness.at('good/a/1'), 'utf8'), 'one');
  await harness.trouble('cache-1: corrupt at 0 length 16B on set.tar.gz');
  const begun = await get('', 'begun');
  assert.equal(begun.exit, 0, begun.err);
});

test('invalid arguments are refused before anything is fetched', async (t) => {
  const harness = await ObjectHarness.open(t);
  const expected: [string[], number, RegExp][] = [
    [[], 2, /no URL given/],
    [['osd:///demo/x'], 97, /unknown scheme 'osd'[^]*did you mean osdf:/],
    [['/demo/x'], 97, /has no scheme/],
    [['a', 'osdf:///demo/x'], 2, /"a" is not a URL/],
    [['osdf:///demo/x', 'osdf:///demo/sub/x', './'], 2, /would both become/],
    [['osdf:///demo/x', 'osdf:///demo/y', '--sha256', 'a'.repeat(64)], 2, /--sha256 is for one object/],
    [['osdf:///demo/x', '--sha256', 'abc'], 2, /64 hexadecimal digits/],
    [['osdf:///demo/x', '--parallel', '0'], 2, /whole number/],
    [['osdf:///demo/x', '--unpack=rar'], 2, /one of auto, nested/],
    [['osdf:///demo/x', '--manifest', 'none.json'], 3, /manifest none\.json cannot be read/],
    [['osdf:///demo/x', 'here', '--into', 'there'], 2, /keep one of them/],
  ];
  for (const [words, exit, message] of expected) {
    const said = await harness.updraft(['get', ...words]);
    assert.equal(said.exit, exit, `${words.join(' ')}: ${said.err}`);
    assert.match(said.err, message);
  }
  assert.equal(harness.federation.counters.server('cache-1').requests, 0);
  assert.deepEqual(await readdir(harness.cwd), []);
});

test('a host without a federation is named', async (t) => {
  const harness = await ObjectHarness.open(t);
  const { exit, err } = await harness.updraft(['get', 'pelican://127.0.0.1:1/demo/x'], {
    clock: fastClock(20),
  });
  assert.equal(exit, 90, err);
  assert.match(err, /127\.0\.0\.1:1/);
});

test('after the user stops it, what arrived is kept for the next time', async (t) => {
  const harness = await ObjectHarness.open(t);
  const bytes = await harness.publish('demo/x', 4_000_000);
  await harness.trouble('caches: stall after 1MB on x');
  const stop = new AbortController();
  const running = harness.updraft(['get', 'osdf:///demo/x'], { signal: stop.signal });
  while (!existsSync(harness.at('x.updraft-part.json'))) await waitForChange([harness.cwd], 50, systemClock);
  stop.abort(new Fault('interrupted', 'stopped by the user'));
  const { exit, err } = await running;
  assert.equal(exit, 5);
  assert.match(err, /it resumes where it stopped/);
  await harness.federation.trouble.clear();
  const again = await harness.updraft(['get', 'osdf:///demo/x']);
  assert.equal(again.exit, 0, again.err);
  assert.match(again.out, /^x: 4 MB in .*; \d.*B of it from an earlier download; from /);
  assert.deepEqual(await readFile(harness.at('x')), bytes);
});

test('after a kill, the same command resumes from what is on the disk', async (t) => {
  const harness = await ObjectHarness.open(t);
  const bytes = await harness.publish('demo/x', 12_000_000);
  await mkdir(harness.at('into'));
  await harness.trouble('caches: limit 3MB/s on x');
  const child = harness.spawn(['get', 'osdf:///demo/x', 'into/']);
  const gone = once(child, 'exit');
  while (!(await readdir(harness.at('into'))).includes('x.updraft-part.json'))
    await waitForChange([harness.at('into')], 50, systemClock);
  child.kill('SIGKILL');
  await gone;
  await harness.federation.trouble.clear();
  const kept = JSON.parse(await readFile(harness.at('into/x.updraft-part.json'), 'utf8')) as {
    done: { start: number; end: number }[];
  };
  const had = kept.done.reduce((sum, { start, end }) => sum + end - start, 0);
  assert.ok(had > 0);
  const again = await ended(harness.spawn(['get', '--json', 'osdf:///demo/x', 'into/']));
  assert.equal(again.exit, 0, again.err);
  const { servers } = JSON.parse(again.out) as { servers: { bytes: number }[] };
  assert.equal(
    servers.reduce((sum, each) => sum + each.bytes, 0),
    bytes.length - had,
  );
  assert.deepEqual(await readFile(harness.at('into/x')), bytes);
  assert.deepEqual(await readdir(harness.at('into')), ['x']);
});

test('pack= in a URL means --unpack on the command line as in the plugin; uploads with it are refused', async (t) => {
  const harness = await ObjectHarness.open(t);
  const env = await harness.tokenEnv({ namespace: '/inbox' });
  await harness.publish('demo/set.tar.gz', makeTarGz({ 'x/a.txt': 'a', 'x/b.txt': 'b' }));
  await harness.publish('demo/plain', 'no archive');
  await harness.publish('demo/set.tar.xz', Buffer.from('fd377a585a000004e6d6b446', 'hex'));
  const url = 'osdf:///demo/set.tar.gz?pack=auto';
  const got = await harness.updraft(['get', url, 'data']);
  assert.equal(got.exit, 0, got.err);
  assert.match(got.out, /2 files \(2 B\) unpacked into data/);
  assert.deepEqual((await readdir(harness.at('data/x'))).sort(), ['a.txt', 'b.txt']);
  // One is unpacked, the other kept packed, both into the folder.
  const both = await harness.updraft(['get', url, 'osdf:///demo/plain', 'both/']);
  assert.equal(both.exit, 0, both.err);
  assert.deepEqual((await readdir(harness.at('both'))).sort(), ['plain', 'x']);
  await writeFile(harness.at('a'), 'a');
  const expected: [string[], number, RegExp][] = [
    [['get', '--unpack=zip', url], 2, /pack=auto in the URL and --unpack=zip contradict each other/],
    [['get', '-r', url], 2, /pack=auto in the URL and --recursive contradict each other/],
    [['get', 'osdf:///demo/set.tar.gz?pack=rar'], 97, /write pack= with one of auto/],
    [['get', 'osdf:///demo/plain?pack=auto'], 102, /is not an archive but/],
    [
      ['get', 'osdf:///demo/set.tar.xz?pack=auto'],
      104,
      /compressed by xz, .*\n.*xz -dc set\.tar\.xz \| zstd/,
    ],
    [['get', 'osdf:///demo/set.tar.xz?pack=tar.xz'], 97, /has pack=tar\.xz .*\n.*xz -dc data\.tar\.xz/],
    [['get', '--unpack=tar.bz2', 'osdf:///demo/plain'], 2, /bzip2 -dc data\.tar\.bz2 \| zstd/],
    [['cat', url], 2, /cat writes objects unchanged/],
    [['put', 'a', 'osdf:///inbox/a?pack=tar'], 97, /files are uploaded unchanged\n.*updraft stage/],
  ];
  for (const [words, exit, message] of expected) {
    const said = await harness.updraft(words, { env, clock: fastClock(50) });
    assert.match(said.err, message, words.join(' '));
    assert.equal(said.exit, exit, `${words.join(' ')}: ${said.err}`);
  }
  assert.deepEqual(await readdir(harness.published('inbox')), []);
});
