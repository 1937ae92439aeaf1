import assert from 'node:assert/strict';
import { rm, truncate } from 'node:fs/promises';
import { test } from 'node:test';
import { ObjectHarness } from './object-harness.ts';

test('ls shows names unchanged, sizes on request, and everything below with --recursive', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/set/b, c; ü.txt', '12345');
  await harness.publish('demo/set/deep/a', '');
  const plain = await harness.updraft(['ls', 'osdf:///demo/set']);
  assert.deepEqual([plain.exit, plain.out], [0, 'b, c; ü.txt\ndeep/\n']);
  const long = await harness.updraft(['ls', '-l', 'osdf:///demo/set']);
  assert.match(long.out, /^ +5 B {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}b, c; ü\.txt\n +- .* deep\/\n$/);
  const all = await harness.updraft(['ls', '--recursive', '--json', 'osdf:///demo/set']);
  const entries = all.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { name: string; size: number });
  assert.deepEqual(
    entries.map(({ name, size }) => [name, size]),
    [
      ['b, c; ü.txt', 5],
      ['deep/a', 0],
    ],
  );
});

test('ls of something missing, of an object, and without a token', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/x', '123');
  const none = await harness.updraft(['ls', 'osdf:///demo/none']);
  assert.equal(none.exit, 96);
  assert.equal((await harness.updraft(['ls', 'osdf:///demo/x'])).out, 'x\n');
  assert.equal((await harness.updraft(['ls', 'osdf:///private'])).exit, 93);
  const env = await harness.tokenEnv({ namespace: '/private' });
  const empty = await harness.updraft(['ls', 'osdf:///private'], { env });
  assert.deepEqual([empty.exit, empty.out, empty.err], [0, '', 'the folder is empty\n']);
});

test('a name cannot control the terminal', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/set/\u001b[31mred', 'x');
  await harness.publish('demo/set/new\nline', 'x');
  const { out } = await harness.updraft(['ls', 'osdf:///demo/set']);
  assert.doesNotMatch(out, /\u001b/);
  const got = await harness.updraft(['get', '-r', 'osdf:///demo/set', 'here']);
  assert.match(got.out, /^here\/new line: 1 B .*\n/m);
  await harness.trouble('all: 404 on *red');
  await rm(harness.at('here'), { recursive: true });
  const failed = await harness.updraft(['get', '-r', 'osdf:///demo/set', 'here']);
  assert.equal(failed.exit, 96, failed.err);
  assert.doesNotMatch(got.out + got.err + failed.out + failed.err, /\u001b/);
});

test('stat shows what the object is, whether a token is needed, and which servers have it', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/x', '123456789');
  await harness.updraft(['get', 'osdf:///demo/x']);
  await harness.trouble('cache-2: down');
  const { exit, out } = await harness.updraft(['stat', '--digest', 'osdf:///demo/x']);
  assert.equal(exit, 0);
  for (const line of [
    /^size {7}9 \(9 B\)$/m,
    /^crc32c {5}e3069283$/m,
    /^namespace {2}\/demo$/m,
    /^token {6}not needed$/m,
    /^cache {6}127\.0\.0\.1:\d+ {2}has 9 B, cached for \d+s$/m,
    /^cache {6}127\.0\.0\.1:\d+ {2}no answer$/m,
  ])
    assert.match(out, line);
  const json = JSON.parse((await harness.updraft(['stat', '--json', 'osdf:///demo/x'])).out) as Record<
    string,
    unknown
  >;
  assert.deepEqual([json['size'], json['requireToken'], json['namespace']], [9, false, '/demo']);
  assert.equal((json['servers'] as unknown[]).length, 2);
  const folder = await harness.updraft(['stat', 'osdf:///demo']);
  assert.match(folder.out, /^kind {7}folder$/m);
  assert.equal((await harness.updraft(['stat', 'osdf:///demo/none'])).exit, 96);
  assert.equal((await harness.updraft(['stat', '--json', 'osdf:///private/x'])).exit, 93);
});

test('a big object that no cache has is described at once, and no cache computes digests for that', async (t) => {
  const harness = await ObjectHarness.open(t, { like: 'pelican-go' });
  await harness.publish('demo/x', '');
  await truncate(harness.published('demo/x'), 4 * 2 ** 30);
  const { exit, out, err } = await harness.updraft(['stat', 'osdf:///demo/x']);
  assert.equal(exit, 0, err);
  assert.match(out, /^size {7}4294967296 \(4\.3 GB\)$/m);
  assert.equal(out.match(/^cache .* {2}not cached yet$/gm)?.length, 2, out);
});
