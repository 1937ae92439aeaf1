import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { systemClock } from '@updraft/base';
import { waitForChange } from '@updraft/base/processes';
import { ObjectHarness } from './object-harness.ts';

const old = new Date('2026-01-02T03:04:05Z');
const soon = (): Date => new Date(Date.now() + 60_000);

const linesOf = (out: string): { target?: string; file?: string; skipped?: boolean }[] =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { target?: string; skipped?: boolean });

for (const like of [undefined, 'pelican-go', 'xrootd'] as const)
  test(`a folder of ${like ?? 'a plain server'} that is fetched again costs only what is missing`, async (t) => {
    const harness = await ObjectHarness.open(t, like === undefined ? {} : { like });
    const names = ['a, b.txt', 'deep/ü 50%20 #?.txt', 'empty', 'same'];
    for (const name of names) await harness.publish(`demo/all/${name}`, name === 'empty' ? '' : name);
    await utimes(harness.published('demo/all/same'), old, old);
    const words = ['get', '-r', 'osdf:///demo/all', 'copy'];
    const first = await harness.updraft(words);
    assert.equal(first.exit, 0, first.err);
    assert.match(first.err, /^4 fetched, 0 already here\n$/m);
    assert.equal((await stat(harness.at('copy/same'))).mtimeMs, old.getTime());
    await harness.publish('demo/all/more/new', 'new');
    await writeFile(harness.at('copy/mine'), 'mine');
    const second = await harness.updraft(words);
    assert.equal(second.exit, 0, second.err);
    assert.match(second.err, /^1 fetched, 4 already here\n$/m);
    assert.match(second.out, /^copy\/more\/new: [^\n]*\n$/);
    const third = await harness.updraft([...words, '--json']);
    assert.deepEqual(
      linesOf(third.out).map(({ skipped }) => skipped),
      [true, true, true, true, true],
    );
    assert.equal(await readFile(harness.at('copy/mine'), 'utf8'), 'mine');
  });

for (const like of ['pelican-go', 'xrootd'] as const)
  test(`what changed at ${like} is refused by name, and fetched from the origin with --overwrite`, async (t) => {
    const harness = await ObjectHarness.open(t, { like });
    for (const name of ['a', 'b', 'c']) await harness.publish(`demo/all/${name}`, `${name} is old`);
    const words = ['get', '-r', 'osdf:///demo/all', 'copy'];
    assert.equal((await harness.updraft(words)).exit, 0);
    // Caches hold the first versions by now; the new ones have the same size, and one the same time.
    const { mtime } = await stat(harness.at('copy/a'));
    for (const name of ['a', 'b']) await harness.publish(`demo/all/${name}`, `${name} is NEW`);
    await utimes(harness.published('demo/all/a'), mtime, mtime);
    await utimes(harness.published('demo/all/b'), old, old);
    const refused = await harness.updraft(words);
    assert.equal(refused.exit, 2, refused.err);
    assert.match(refused.err, /copy\/a FAILED: .*copy\/a exists and is not osdf:\/\/\/demo\/all\/a\n/);
    assert.match(refused.err, /1 of 3 done; not done:/);
    assert.equal(await readFile(harness.at('copy/b'), 'utf8'), 'b is old');
    const done = await harness.updraft([...words, '--overwrite']);
    assert.equal(done.exit, 0, done.err);
    assert.match(done.err, /^2 fetched, 1 already here\n$/m);
    for (const name of ['a', 'b'])
      assert.equal(await readFile(harness.at(`copy/${name}`), 'utf8'), `${name} is NEW`);
  });

test('where no server has a digest, the same time decides, and --overwrite fetches everything', async (t) => {
  const harness = await ObjectHarness.open(t);
  for (const server of ['cache-1', 'cache-2', 'origin']) await harness.trouble(`${server}: digest-missing`);
  for (const name of ['a', 'b', 'c']) await harness.publish(`demo/all/${name}`, `${name} is old`);
  for (const name of ['a', 'b', 'c']) await utimes(harness.published(`demo/all/${name}`), old, old);
  const words = ['get', '-r', 'osdf:///demo/all', 'copy'];
  assert.equal((await harness.updraft(words)).exit, 0);
  assert.match((await harness.updraft(words)).err, /^0 fetched, 3 already here\n$/m);
  // One object and one file change, without changing in size.
  await harness.publish('demo/all/a', 'a is NEW');
  await writeFile(harness.at('copy/b'), 'b is bad');
  const refused = await harness.updraft(words);
  assert.equal(refused.exit, 2, refused.err);
  for (const name of ['a', 'b'])
    assert.match(refused.err, new RegExp(`copy/${name} exists with another time, and no digest proves`));
  assert.match(refused.err, /1 of 3 done/);
  const done = await harness.updraft([...words, '--overwrite']);
  assert.match(done.err, /^3 fetched, 0 already here\n$/m);
  assert.equal(await readFile(harness.at('copy/a'), 'utf8'), 'a is NEW');
  assert.equal(await readFile(harness.at('copy/b'), 'utf8'), 'b is old');
});

test('a folder that is uploaded again costs only what is missing or, with --overwrite, what changed', async (t) => {
  const harness = await ObjectHarness.open(t);
  const env = await harness.tokenEnv({ namespace: '/inbox' });
  await mkdir(harness.at('out/deep'), { recursive: true });
  for (const name of ['a', 'deep/b, ü 50%20']) await writeFile(harness.at(`out/${name}`), name);
  const words = ['put', '-r', 'out', 'osdf:///inbox/out'];
  const first = await harness.updraft(words, { env });
  assert.equal(first.exit, 0, first.err);
  assert.match(first.err, /^2 uploaded, 0 already there\n$/m);
  await writeFile(harness.at('out/late'), 'late');
  await harness.publish('inbox/out/theirs', 'theirs');
  const second = await harness.updraft(words, { env });
  assert.match(second.err, /^1 uploaded, 2 already there\n$/m);
  assert.match(second.out, /^osdf:\/\/\/inbox\/out\/late: [^\n]*\n$/);
  const third = await harness.updraft([...words, '--json'], { env });
  assert.deepEqual(
    linesOf(third.out).map(({ skipped }) => skipped),
    [true, true, true],
  );
  await writeFile(harness.at('out/a'), 'A');
  const refused = await harness.updraft(words, { env });
  assert.equal(refused.exit, 2);
  assert.match(refused.err, /out\/a FAILED: .*exists already\n.*--overwrite/);
  const done = await harness.updraft([...words, '--overwrite'], { env });
  assert.match(done.err, /^1 uploaded, 2 already there\n$/m);
  assert.equal(await readFile(harness.published('inbox/out/a'), 'utf8'), 'A');
  assert.ok(existsSync(harness.published('inbox/out/theirs')));
});

test('where the origin has no digest, an object counts as the file only if it is newer', async (t) => {
  const harness = await ObjectHarness.open(t);
  const env = await harness.tokenEnv({ namespace: '/inbox' });
  await harness.trouble('origin: digest-missing');
  await mkdir(harness.at('out'));
  for (const name of ['a', 'b']) await writeFile(harness.at(`out/${name}`), `${name} is old`);
  const words = ['put', '-r', 'out', 'osdf:///inbox/out'];
  assert.equal((await harness.updraft(words, { env })).exit, 0);
  for (const name of ['a', 'b']) await utimes(harness.published(`inbox/out/${name}`), soon(), soon());
  assert.match((await harness.updraft(words, { env })).err, /^0 uploaded, 2 already there\n$/m);
  // Another file of the same size and of an old date in its place: only its change time shows it.
  await writeFile(harness.at('out/a'), 'a is NEW');
  await utimes(harness.at('out/a'), old, old);
  await utimes(harness.published('inbox/out/a'), soon(), new Date(old.getTime() + 60_000));
  const refused = await harness.updraft(words, { env });
  assert.equal(refused.exit, 2, refused.out + refused.err);
  assert.match(refused.err, /out\/a FAILED: .*exists already\n/);
  const done = await harness.updraft([...words, '--overwrite'], { env });
  assert.match(done.err, /^2 uploaded, 0 already there\n$/m);
  assert.equal(await readFile(harness.published('inbox/out/a'), 'utf8'), 'a is NEW');
});

test('after a kill, the same command continues with the folder', async (t) => {
  const harness = await ObjectHarness.open(t);
  const bytes = await harness.publish('demo/all/large', 12_000_000);
  await harness.publish('demo/all/first', 'small');
  await harness.publish('demo/all/later', 'small');
  await mkdir(harness.at('copy'));
  await harness.trouble('caches: limit 3MB/s on large');
  const words = ['get', '-r', '--parallel', '1', 'osdf:///demo/all', 'copy'];
  const child = harness.spawn(words);
  const gone = once(child, 'exit');
  while (!(await readdir(harness.at('copy'))).includes('large.updraft-part.json'))
    await waitForChange([harness.at('copy')], 50, systemClock);
  child.kill('SIGKILL');
  await gone;
  await harness.federation.trouble.clear();
  const again = await harness.updraft(words);
  assert.equal(again.exit, 0, again.err);
  assert.match(again.err, /^2 fetched, 1 already here\n$/m);
  assert.match(again.out, /^copy\/large: .* of it from an earlier download/);
  assert.deepEqual(await readFile(harness.at('copy/large')), bytes);
  assert.deepEqual((await readdir(harness.at('copy'))).sort(), ['first', 'large', 'later']);
});
