import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { loadPlan } from '../../src/job/load-plan.ts';
import { ObjectHarness } from './object-harness.ts';

const long = 'x'.repeat(120);
const files: Record<string, string> = { [`b/${long}.txt`]: 'long', 'b/ü, ;.txt': 'odd', 'b/empty': '' };
for (const folder of ['a', 'b'])
  for (const sample of ['1', '2', '3']) {
    files[`${folder}/${sample}.jpg`] = sample.repeat(400_000);
    files[`${folder}/${sample}.cls`] = sample;
  }

async function dataset(
  t: TestContext,
): Promise<{ bench: ObjectHarness; env: Record<string, string | undefined> }> {
  const harness = await ObjectHarness.open(t);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(harness.at(`set/${name}`)), { recursive: true });
    await writeFile(harness.at(`set/${name}`), content);
  }
  return { bench: harness, env: await harness.tokenEnv({ namespace: '/inbox' }) };
}

const stage = ['stage', 'set', 'osdf:///inbox/sets', '--shard-size', '1MB'];

test('a folder becomes verified shards that any tar reads, with whole samples, and is restored the same', async (t) => {
  const { bench: harness, env } = await dataset(t);
  const { exit, out, err } = await harness.updraft(stage, { env });
  assert.equal(exit, 0, err);
  assert.match(
    out,
    /^\[data\.set\]\nurl = "osdf:\/\/\/inbox\/sets\/set-[0-9a-f]{8}\.shards\.json"\nsha256 = "[0-9a-f]{64}"\ninto = "data"\nexpect = \{ files = 15, bytes = \d+ \}\n$/,
  );
  const tars = (await readdir(harness.published('inbox/sets'))).filter((name) => name.endsWith('.tar'));
  assert.ok(tars.length > 1);
  await writeFile(
    harness.at('updraft.toml'),
    `name = "x"\n[train]\ncommand = "true"\noutputs = ["m"]\n${out}`,
  );
  const [data] = (await loadPlan(harness.at('updraft.toml'))).data;
  assert.equal(data?.method, 'stream');
  const checked = await harness.updraft([
    'check',
    '--set',
    `data.set.token_file=${env['BEARER_TOKEN_FILE']}`,
  ]);
  assert.equal(checked.exit, 0, checked.err + checked.out);
  assert.match(checked.out, new RegExp(`data\\.set .*; ${tars.length} shards with 15 files, 2\\.4 MB`));
  for (const tar of tars) {
    const names = spawnSync('tar', ['tf', harness.published(`inbox/sets/${tar}`)], {
      encoding: 'utf8',
    }).stdout;
    for (const [, stem] of names.matchAll(/^(.*)\.jpg$/gm)) assert.ok(names.includes(`${stem ?? ''}.cls`));
  }
  const urls = tars.map((tar) => `osdf:///inbox/sets/${tar}`);
  const get = await harness.updraft(['get', '--staged', '--unpack=tar', ...urls, 'back'], { env });
  assert.equal(get.exit, 0, get.err);
  assert.match(get.out, /verified: every chunk, with the manifest/);
  for (const [name, content] of Object.entries(files))
    assert.equal(await readFile(harness.at(`back/${name}`), 'utf8'), content);
});

test('a shard that is gone, or a sum that is not expected, is found by check', async (t) => {
  const { bench: harness, env } = await dataset(t);
  const { out } = await harness.updraft(stage, { env });
  const job = `name = "x"\n[train]\ncommand = "echo > m"\noutputs = ["m"]\n${out}`;
  const token = `token_file = "${env['BEARER_TOKEN_FILE']}"\n`;
  await writeFile(harness.at('updraft.toml'), job.replace('files = 15', 'files = 16') + token);
  const sum = await harness.updraft(['check']);
  assert.equal(sum.exit, 3);
  assert.match(
    sum.out.replaceAll(/\s+/g, ' '),
    /its shards have 15 files in all, but the job file expects 16/,
  );
  const [tar = ''] = (await readdir(harness.published('inbox/sets'))).filter((name) => name.endsWith('.tar'));
  await rm(harness.published(`inbox/sets/${tar}`));
  await writeFile(harness.at('updraft.toml'), job + token);
  const gone = await harness.updraft(['check']);
  assert.equal(gone.exit, 3);
  assert.match(gone.out.replaceAll(/\s+/g, ' '), new RegExp(`the shard ${tar} is not there .*updraft stage`));
});

test('with shuffling, folders are mixed from the first shard on, samples stay whole, and the result is the same every time', async (t) => {
  const { bench: harness, env } = await dataset(t);
  const shuffled = [...stage.slice(0, 2), 'osdf:///inbox/mixed', '--shuffle', ...stage.slice(3)];
  const { exit, out, err } = await harness.updraft(shuffled, { env });
  assert.equal(exit, 0, err);
  assert.equal((await harness.updraft(shuffled, { env })).out, out);
  const tars = (await readdir(harness.published('inbox/mixed'))).filter((name) => name.endsWith('.tar'));
  const [first = [], ...others] = tars.sort().map((tar) => {
    const { stdout } = spawnSync('tar', ['tf', harness.published(`inbox/mixed/${tar}`)], {
      encoding: 'utf8',
    });
    return stdout.trim().split('\n');
  });
  assert.deepEqual(new Set(first.map((name) => name.split('/')[0])), new Set(['a', 'b']));
  const names = [first, ...others];
  for (const list of names)
    for (const name of list.filter((one) => one.endsWith('.jpg')))
      assert.ok(list.includes(name.replace('.jpg', '.cls')), name);
  assert.equal(names.flat().length, Object.keys(files).length);
});

test('a folder that fits into one shard needs no list, unless it is shuffled: a stream reads lists', async (t) => {
  const { bench: harness, env } = await dataset(t);
  for (const [more, url] of [
    [[], /\.tar"/],
    [['--shuffle'], /\.shards\.json"/],
  ] as const) {
    const { exit, out, err } = await harness.updraft(['stage', 'set', 'osdf:///inbox/one', ...more], { env });
    assert.equal(exit, 0, err);
    assert.match(out, url);
  }
});

test('the same command again sends only what is missing, and says why', async (t) => {
  const { bench: harness, env } = await dataset(t);
  const first = await harness.updraft(stage, { env });
  const again = await harness.updraft(stage, { env });
  assert.equal(again.out, first.out);
  assert.doesNotMatch(again.err, /uploaded;/);
  const [tar = ''] = (await readdir(harness.published('inbox/sets'))).filter((name) => name.endsWith('.tar'));
  await rm(harness.published(`inbox/sets/${tar}`));
  await utimes(harness.at('set/b/3.jpg'), 1, 1);
  const third = await harness.updraft(stage, { env });
  assert.equal(third.out, first.out);
  assert.match(
    third.err,
    new RegExp(`${tar}: uploaded earlier, but the origin no longer has it: uploading it again`),
  );
  assert.match(third.err, /its files changed since it was staged: packing it again/);
  assert.match(third.err, /the origin already has it; verified: digest/);
});

test('a single file is uploaded unchanged, and a dry run uploads nothing', async (t) => {
  const { bench: harness, env } = await dataset(t);
  const dry = await harness.updraft([...stage, '--dry-run'], { env });
  assert.match(dry.out, /^set-0000-\*\.tar {2}\d+ kB {2}\d+ files\n/);
  assert.deepEqual(await readdir(harness.published('inbox')), []);
  await writeFile(harness.at('labels.csv'), 'a,1\n');
  const { exit, out } = await harness.updraft(['stage', 'labels.csv', 'osdf:///inbox', '--json'], { env });
  assert.equal(exit, 0, out);
  const object = JSON.parse(out) as { url: string; sha256: string; bytes: number };
  assert.equal(object.url, `osdf:///inbox/labels-${object.sha256.slice(0, 8)}.csv`);
  assert.equal(
    await readFile(harness.published(path.basename(object.url).replace(/^/, 'inbox/')), 'utf8'),
    'a,1\n',
  );
});

test('whatever cannot be staged is named', async (t) => {
  const { bench: harness, env } = await dataset(t);
  await mkdir(harness.at('empty'));
  const expected: [string[], number, RegExp][] = [
    [['none', 'osdf:///inbox/x'], 3, /none does not exist/],
    [['empty', 'osdf:///inbox/x'], 3, /empty contains no files/],
    [['set', 'osdf:///inbox/x', '--shard-size', 'big'], 2, /--shard-size big/],
    [['set', 'file:///tmp/x'], 2, /not in a federation/],
  ];
  for (const [words, exit, message] of expected) {
    const said = await harness.updraft(['stage', ...words], { env });
    assert.equal(said.exit, exit, said.err);
    assert.match(said.err, message);
  }
  assert.equal((await harness.updraft(stage)).exit, 93);
});

test('stored manifests verify with a key that is never uploaded, and find damage', async (t) => {
  const { bench: harness, env } = await dataset(t);
  const keep = [...stage, '--manifests', 'proofs'];
  const first = await harness.updraft(keep, { env });
  assert.equal(first.exit, 0, first.err);
  const [, list = '', sent = ''] = /^url = ".*\/(.*)"\nmanifest = "(.*)"$/m.exec(first.out) ?? [];
  assert.equal(sent, `proofs/${list}`);
  assert.match(await readFile(harness.at(sent), 'utf8'), /"keyed"/);
  assert.doesNotMatch(await readFile(harness.published(`inbox/sets/${list}`), 'utf8'), /keyed/);
  const tar = (await readdir(harness.published('inbox/sets'))).find((name) => name.endsWith('.tar')) ?? '';
  const proof = `proofs/${tar}.manifest.json`;
  const kept = JSON.parse(await readFile(harness.at(proof), 'utf8')) as { keyed: { key: string } };
  const uploaded = await readFile(harness.published(`inbox/sets/${tar}.manifest.json`), 'utf8');
  assert.ok(!uploaded.includes(kept.keyed.key));
  assert.doesNotMatch(uploaded, /keyed/);
  await rm(harness.at(proof));
  await harness.updraft(keep, { env });
  const get = ['get', '--manifest', proof, `osdf:///inbox/sets/${tar}`];
  const good = await harness.updraft([...get, 'good.tar'], { env });
  assert.equal(good.exit, 0, good.err);
  assert.match(good.out, /verified: every chunk, with the manifest/);
  const bytes = await readFile(harness.published(`inbox/sets/${tar}`));
  bytes[700] = (bytes[700] ?? 0) ^ 1;
  await writeFile(harness.published(`inbox/sets/other.tar`), bytes);
  const bad = await harness.updraft(['get', '--manifest', proof, 'osdf:///inbox/sets/other.tar', 'bad.tar'], {
    env,
  });
  assert.equal(bad.exit, 89, bad.err);
});
