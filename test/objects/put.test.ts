import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { ObjectHarness } from './object-harness.ts';

test('a file becomes an object, is compared, and does not replace another', async (t) => {
  const harness = await ObjectHarness.open(t);
  const env = await harness.tokenEnv({ namespace: '/inbox' });
  await writeFile(harness.at('model.pt'), 'weights');
  const first = await harness.updraft(['put', 'model.pt', 'osdf:///inbox/me/model.pt'], { env });
  assert.equal(first.exit, 0, first.err);
  assert.match(first.out, /^osdf:\/\/\/inbox\/me\/model\.pt: 7 B in .*; verified: digest\n$/);
  await writeFile(harness.at('model.pt'), 'better weights');
  const second = await harness.updraft(['put', 'model.pt', 'osdf:///inbox/me/'], { env });
  assert.equal(second.exit, 2);
  const same = await harness.updraft(['put', 'model.pt', 'osdf:///inbox/me/same'], { env });
  assert.match(same.out, /verified: digest/);
  const twice = await harness.updraft(['put', 'model.pt', 'osdf:///inbox/me/same'], { env });
  assert.match(twice.out, /: already there; verified: digest\n$/);
  assert.match(second.err, /exists already\n.*--overwrite/);
  assert.equal(await readFile(harness.published('inbox/me/model.pt'), 'utf8'), 'weights');
  const third = await harness.updraft(['put', 'model.pt', 'osdf:///inbox/me/', '--overwrite'], { env });
  assert.equal(third.exit, 0, third.err);
  assert.equal(await readFile(harness.published('inbox/me/model.pt'), 'utf8'), 'better weights');
});

test('folders are uploaded with every name and empty files, and fetched back the same', async (t) => {
  const harness = await ObjectHarness.open(t);
  const env = await harness.tokenEnv({ namespace: '/inbox' });
  await mkdir(harness.at('out/deep'), { recursive: true });
  const names = ['a, b; c.txt', 'deep/ü 50%20 #?.txt', 'empty'];
  for (const name of names) await writeFile(harness.at(`out/${name}`), name === 'empty' ? '' : name);
  const put = await harness.updraft(['put', '--recursive', '--json', 'out', 'osdf:///inbox/out'], { env });
  assert.equal(put.exit, 0, put.out);
  assert.equal(put.out.trim().split('\n').length, 3);
  assert.deepEqual((await readdir(harness.published('inbox/out'))).sort(), ['a, b; c.txt', 'deep', 'empty']);
  const again = await harness.updraft(['put', '--recursive', 'out', 'osdf:///inbox/out'], { env });
  assert.equal(again.exit, 0, again.err);
  assert.equal(again.err, '0 uploaded, 3 already there\n');
  const get = await harness.updraft(['get', '-r', 'osdf:///inbox/out', 'back'], { env });
  assert.equal(get.exit, 0, get.err);
  for (const name of names)
    assert.equal(await readFile(harness.at(`back/${name}`), 'utf8'), name === 'empty' ? '' : name);
});

test('a file that cannot be uploaded is reported, and the others are uploaded', async (t) => {
  const harness = await ObjectHarness.open(t);
  const env = await harness.tokenEnv({ namespace: '/inbox' });
  await writeFile(harness.at('a'), 'a');
  await mkdir(harness.at('folder'));
  const expected: [string[], number, RegExp][] = [
    [['a', 'osdf:///demo/a'], 97, /does not allow uploads/],
    [['none', 'osdf:///inbox/none'], 3, /none cannot be read/],
    [['folder', 'osdf:///inbox/folder'], 2, /--recursive/],
    [['a', 'b'], 2, /"b" is not a URL/],
    [['a', 'file:///tmp/a'], 97, /not a place to upload to/],
  ];
  for (const [words, exit, message] of expected) {
    const said = await harness.updraft(['put', ...words], { env });
    assert.match(said.err, message);
    assert.equal(said.exit, exit, `${words.join(' ')}: ${said.err}`);
  }
  const none = await harness.updraft(['put', 'a', 'osdf:///inbox/a']);
  assert.equal(none.exit, 93);
});

test('a folder with a name that is not UTF-8 is named, not left out', async (t) => {
  const harness = await ObjectHarness.open(t);
  const env = await harness.tokenEnv({ namespace: '/inbox' });
  const folder = Buffer.concat([Buffer.from(harness.at('all/caf')), Buffer.from([0xe9])]);
  await mkdir(folder, { recursive: true });
  await writeFile(Buffer.concat([folder, Buffer.from('/lost')]), 'lost');
  await writeFile(harness.at('all/found'), 'found');
  const { exit, err } = await harness.updraft(['put', '-r', 'all', 'osdf:///inbox/all'], { env });
  assert.equal(exit, 3, err);
  assert.match(err, /all\/caf.*\n  fix: .* not UTF-8 must be changed/);
});
