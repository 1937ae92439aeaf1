import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { ObjectHarness } from './object-harness.ts';

const old = new Date('2026-01-02T03:04:05Z');

for (const like of ['pelican-go', 'xrootd'] as const)
  test(`a folder becomes the copy of a collection of ${like}: files that differ are fetched, equal ones are not read`, async (t) => {
    const harness = await ObjectHarness.open(t, { like });
    const names = ['a, b.txt', 'deep/ü 50%20 #?.txt', 'empty', 'same'];
    for (const name of names) await harness.publish(`demo/all/${name}`, name === 'empty' ? '' : name);
    await utimes(harness.published('demo/all/same'), old, old);
    const words = ['sync', 'osdf:///demo/all', 'copy'];
    const dry = await harness.updraft([...words, '--dry-run']);
    assert.match(dry.err, /4 new, 0 to update, 0 unchanged, 0 to delete; nothing was changed/);
    assert.ok(!existsSync(harness.at('copy')));
    const first = await harness.updraft(words);
    assert.equal(first.exit, 0, first.err);
    for (const name of names)
      assert.equal(await readFile(harness.at(`copy/${name}`), 'utf8'), name === 'empty' ? '' : name);
    // Caches hold the first versions by now; one object is replaced by another of the same size, one by a longer one.
    await harness.publish('demo/all/a, b.txt', 'A, B.TXT');
    await utimes(harness.published('demo/all/a, b.txt'), old, old);
    await harness.publish('demo/all/deep/ü 50%20 #?.txt', 'longer than it was before');
    await writeFile(harness.at('copy/same'), 'same');
    const second = await harness.updraft([...words, '--json']);
    assert.equal(second.exit, 0, second.out);
    const actions = second.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { action: string }).action);
    assert.deepEqual(actions.toSorted(), ['same', 'same', 'update', 'update']);
    assert.equal(await readFile(harness.at('copy/a, b.txt'), 'utf8'), 'A, B.TXT');
    assert.equal(await readFile(harness.at('copy/deep/ü 50%20 #?.txt'), 'utf8'), 'longer than it was before');
    const asked = (): number[] =>
      ['cache-1', 'cache-2'].map((cache) => harness.federation.counters.server(cache).requests);
    const before = asked();
    const third = await harness.updraft(words);
    assert.match(third.err, /^0 new, 0 updated, 4 unchanged, 0 deleted\n$/);
    assert.deepEqual(asked(), before);
    // An unset variable in a script must not mean the current folder.
    for (const target of ['', '/']) {
      const nowhere = await harness.updraft(['sync', 'osdf:///demo/all', target, '--delete', '--yes']);
      assert.deepEqual([nowhere.exit, existsSync(harness.at('copy/same'))], [2, true], nowhere.err);
    }
  });

test('with --delete what the source lacks is deleted from the target, and nothing else, after confirmation', async (t) => {
  const harness = await ObjectHarness.open(t);
  for (const name of ['a', 'deep/b']) await harness.publish(`demo/all/${name}`, name);
  const words = ['sync', 'osdf:///demo/all/', 'copy/'];
  await harness.updraft(words);
  await mkdir(harness.at('copy/mine/deeper'), { recursive: true });
  await writeFile(harness.at('copy/mine/deeper/x'), 'x');
  await writeFile(harness.at('copy/a.part'), 'of an earlier time');
  await mkdir(harness.at('outside'));
  await writeFile(harness.at('outside/y'), 'y');
  await symlink(harness.at('outside'), harness.at('copy/link'));
  const kept = await harness.updraft(words);
  assert.match(kept.err, /the target has 2 files more: --delete deletes them/);
  const refused = await harness.updraft([...words, '--delete']);
  assert.equal(refused.exit, 2);
  assert.match(refused.err, /copy\/mine\/deeper\/x\n.*no terminal to ask on: add --yes/s);
  const dry = await harness.updraft([...words, '--delete', '--dry-run']);
  assert.match(dry.out, /^delete copy\/link\ndelete copy\/mine\/deeper\/x\n$/);
  assert.ok(existsSync(harness.at('copy/mine/deeper/x')));
  const done = await harness.updraft([...words, '--delete'], { ask: () => Promise.resolve('y') });
  assert.equal(done.exit, 0, done.err);
  assert.deepEqual((await readdir(harness.at('copy'))).toSorted(), ['a', 'a.part', 'deep']);
  assert.ok(existsSync(harness.at('outside/y')));
});

test('a collection becomes the copy of a folder, both ways, and an object that of a file', async (t) => {
  const harness = await ObjectHarness.open(t);
  const env = await harness.tokenEnv({ namespace: '/inbox' });
  await mkdir(harness.at('out/deep'), { recursive: true });
  for (const name of ['a', 'deep/b, ü 50%20', 'late']) await writeFile(harness.at(`out/${name}`), name);
  for (const name of ['a', 'deep/b, ü 50%20']) await utimes(harness.at(`out/${name}`), old, old);
  await harness.publish('inbox/out/old', 'old');
  await harness.publish('inbox/out/late', 'LATE');
  const up = ['sync', 'out', 'osdf:///inbox/out', '--delete', '--yes'];
  const first = await harness.updraft(up, { env });
  assert.equal(first.exit, 0, first.err);
  assert.match(first.err, /2 new, 1 updated, 0 unchanged, 1 deleted/);
  assert.deepEqual((await readdir(harness.published('inbox/out'))).toSorted(), ['a', 'deep', 'late']);
  assert.equal(await readFile(harness.published('inbox/out/late'), 'utf8'), 'late');
  const again = await harness.updraft(up, { env });
  assert.match(again.err, /^0 new, 0 updated, 3 unchanged, 0 deleted\n$/);
  await writeFile(harness.at('out/a'), 'A');
  assert.match((await harness.updraft(up, { env })).err, /1 updated, 2 unchanged/);
  const file = await harness.updraft(['sync', 'out/a', 'osdf:///inbox/out/'], { env });
  assert.match(file.err, /1 unchanged/, file.err);
  const object = await harness.updraft(['sync', 'osdf:///inbox/out/a', 'b'], { env });
  assert.match(object.err, /1 new/, object.err);
  assert.equal(await readFile(harness.at('b'), 'utf8'), 'A');
});

test('a command that would lose data, or makes no sense, is refused', async (t) => {
  const harness = await ObjectHarness.open(t);
  const env = await harness.tokenEnv({ namespace: '/inbox' });
  await mkdir(harness.at('empty'));
  await harness.publish('inbox/out/keep', 'keep');
  const expected: [string[], number, RegExp][] = [
    [['empty', 'osdf:///inbox/out', '--delete', '-y'], 2, /empty is empty, and --delete would delete all/],
    [['empty', 'other'], 2, /both on this machine/],
    [['osdf:///inbox/a', 'osdf:///inbox/b'], 2, /both URLs/],
    [['osdf:///inbox/none', 'x', '--delete', '-y'], 96, /is not there/],
    [['none', 'osdf:///inbox/out', '--delete', '-y'], 3, /none cannot be read/],
  ];
  for (const [words, exit, message] of expected) {
    const said = await harness.updraft(['sync', ...words], { env });
    assert.match(said.err, message, words.join(' '));
    assert.equal(said.exit, exit, said.err);
  }
  // If anything could not be copied, nothing is deleted.
  await writeFile(harness.at('empty/a'), 'a');
  await harness.trouble('origin: 507 on /inbox/out/a');
  const failed = await harness.updraft(['sync', 'empty', 'osdf:///inbox/out', '--delete', '-y'], { env });
  assert.notEqual(failed.exit, 0);
  assert.ok(existsSync(harness.published('inbox/out/keep')));
});
