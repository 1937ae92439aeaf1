import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { ObjectBench } from './object-bench.ts';

const old = new Date('2026-01-02T03:04:05Z');

for (const like of ['pelican-go', 'xrootd'] as const)
  test(`a folder becomes the copy of a collection of ${like}: what differs is fetched, what is the same is not read`, async (t) => {
    const bench = await ObjectBench.open(t, { like });
    const names = ['a, b.txt', 'deep/ü 50%20 #?.txt', 'empty', 'same'];
    for (const name of names) await bench.publish(`demo/all/${name}`, name === 'empty' ? '' : name);
    await utimes(bench.published('demo/all/same'), old, old);
    const words = ['sync', 'osdf:///demo/all', 'copy'];
    const dry = await bench.updraft([...words, '--dry-run']);
    assert.match(dry.err, /4 new, 0 to update, 0 unchanged, 0 to delete; nothing was changed/);
    assert.ok(!existsSync(bench.at('copy')));
    const first = await bench.updraft(words);
    assert.equal(first.exit, 0, first.err);
    for (const name of names)
      assert.equal(await readFile(bench.at(`copy/${name}`), 'utf8'), name === 'empty' ? '' : name);
    // Caches hold the first versions by now; one is replaced by another of the same size, one by a longer one.
    await bench.publish('demo/all/a, b.txt', 'A, B.TXT');
    await utimes(bench.published('demo/all/a, b.txt'), old, old);
    await bench.publish('demo/all/deep/ü 50%20 #?.txt', 'longer than it was before');
    await writeFile(bench.at('copy/same'), 'same');
    const second = await bench.updraft([...words, '--json']);
    assert.equal(second.exit, 0, second.out);
    const actions = second.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { action: string }).action);
    assert.deepEqual(actions.toSorted(), ['same', 'same', 'update', 'update']);
    assert.equal(await readFile(bench.at('copy/a, b.txt'), 'utf8'), 'A, B.TXT');
    assert.equal(await readFile(bench.at('copy/deep/ü 50%20 #?.txt'), 'utf8'), 'longer than it was before');
    const asked = (): number[] =>
      ['cache-1', 'cache-2'].map((cache) => bench.federation.counters.server(cache).requests);
    const before = asked();
    const third = await bench.updraft(words);
    assert.match(third.err, /^0 new, 0 updated, 4 unchanged, 0 deleted\n$/);
    assert.deepEqual(asked(), before);
    // A variable of a script that is not set must not mean the folder one happens to be in.
    for (const target of ['', '/']) {
      const nowhere = await bench.updraft(['sync', 'osdf:///demo/all', target, '--delete', '--yes']);
      assert.deepEqual([nowhere.exit, existsSync(bench.at('copy/same'))], [2, true], nowhere.err);
    }
  });

test('with --delete what the source lacks goes from the target, and nothing else, if somebody agrees', async (t) => {
  const bench = await ObjectBench.open(t);
  for (const name of ['a', 'deep/b']) await bench.publish(`demo/all/${name}`, name);
  const words = ['sync', 'osdf:///demo/all/', 'copy/'];
  await bench.updraft(words);
  await mkdir(bench.at('copy/mine/deeper'), { recursive: true });
  await writeFile(bench.at('copy/mine/deeper/x'), 'x');
  await writeFile(bench.at('copy/a.part'), 'of an earlier time');
  await mkdir(bench.at('outside'));
  await writeFile(bench.at('outside/y'), 'y');
  await symlink(bench.at('outside'), bench.at('copy/link'));
  const kept = await bench.updraft(words);
  assert.match(kept.err, /the target has 2 files more: --delete deletes them/);
  const refused = await bench.updraft([...words, '--delete']);
  assert.equal(refused.exit, 2);
  assert.match(refused.err, /copy\/mine\/deeper\/x\n.*nobody is here to agree: say --yes/s);
  const dry = await bench.updraft([...words, '--delete', '--dry-run']);
  assert.match(dry.out, /^delete copy\/link\ndelete copy\/mine\/deeper\/x\n$/);
  assert.ok(existsSync(bench.at('copy/mine/deeper/x')));
  const done = await bench.updraft([...words, '--delete'], { ask: () => Promise.resolve('y') });
  assert.equal(done.exit, 0, done.err);
  assert.deepEqual((await readdir(bench.at('copy'))).toSorted(), ['a', 'a.part', 'deep']);
  assert.ok(existsSync(bench.at('outside/y')));
});

test('a collection becomes the copy of a folder, both ways, and an object that of a file', async (t) => {
  const bench = await ObjectBench.open(t);
  const env = await bench.tokenEnv({ namespace: '/inbox' });
  await mkdir(bench.at('out/deep'), { recursive: true });
  for (const name of ['a', 'deep/b, ü 50%20', 'late']) await writeFile(bench.at(`out/${name}`), name);
  for (const name of ['a', 'deep/b, ü 50%20']) await utimes(bench.at(`out/${name}`), old, old);
  await bench.publish('inbox/out/old', 'old');
  await bench.publish('inbox/out/late', 'LATE');
  const up = ['sync', 'out', 'osdf:///inbox/out', '--delete', '--yes'];
  const first = await bench.updraft(up, { env });
  assert.equal(first.exit, 0, first.err);
  assert.match(first.err, /2 new, 1 updated, 0 unchanged, 1 deleted/);
  assert.deepEqual((await readdir(bench.published('inbox/out'))).toSorted(), ['a', 'deep', 'late']);
  assert.equal(await readFile(bench.published('inbox/out/late'), 'utf8'), 'late');
  const again = await bench.updraft(up, { env });
  assert.match(again.err, /^0 new, 0 updated, 3 unchanged, 0 deleted\n$/);
  await writeFile(bench.at('out/a'), 'A');
  assert.match((await bench.updraft(up, { env })).err, /1 updated, 2 unchanged/);
  const file = await bench.updraft(['sync', 'out/a', 'osdf:///inbox/out/'], { env });
  assert.match(file.err, /1 unchanged/, file.err);
  const object = await bench.updraft(['sync', 'osdf:///inbox/out/a', 'b'], { env });
  assert.match(object.err, /1 new/, object.err);
  assert.equal(await readFile(bench.at('b'), 'utf8'), 'A');
});

test('what would lose data, or means nothing, is refused', async (t) => {
  const bench = await ObjectBench.open(t);
  const env = await bench.tokenEnv({ namespace: '/inbox' });
  await mkdir(bench.at('empty'));
  await bench.publish('inbox/out/keep', 'keep');
  const expected: [string[], number, RegExp][] = [
    [
      ['empty', 'osdf:///inbox/out', '--delete', '-y'],
      2,
      /empty holds nothing, and --delete would delete all/,
    ],
    [['empty', 'other'], 2, /both of this machine/],
    [['osdf:///inbox/a', 'osdf:///inbox/b'], 2, /both URLs/],
    [['osdf:///inbox/none', 'x', '--delete', '-y'], 96, /is not there/],
    [['none', 'osdf:///inbox/out', '--delete', '-y'], 3, /none cannot be read/],
  ];
  for (const [words, exit, message] of expected) {
    const said = await bench.updraft(['sync', ...words], { env });
    assert.match(said.err, message, words.join(' '));
    assert.equal(said.exit, exit, said.err);
  }
  // What could not be copied keeps everything from being deleted.
  await writeFile(bench.at('empty/a'), 'a');
  await bench.trouble('origin: 507 on /inbox/out/a');
  const failed = await bench.updraft(['sync', 'empty', 'osdf:///inbox/out', '--delete', '-y'], { env });
  assert.notEqual(failed.exit, 0);
  assert.ok(existsSync(bench.published('inbox/out/keep')));
});
