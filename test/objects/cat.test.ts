import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fastClock } from '../fast-clock.ts';
import { ended, ObjectHarness } from './object-harness.ts';

test('objects are written one after the other, and nothing else is on stdout', async (t) => {
  const harness = await ObjectHarness.open(t);
  const first = await harness.publish('demo/a, b; ü.bin', 700_000);
  const second = await harness.publish('demo/empty', '');
  const third = await harness.publish('demo/c', 'the end');
  const words = ['cat', 'osdf:///demo/a, b; ü.bin', 'osdf:///demo/empty', 'osdf:///demo/c'];
  const { exit, out, err } = await ended(harness.spawn(words));
  assert.equal(exit, 0, err);
  assert.deepEqual(Buffer.from(out, 'latin1'), Buffer.concat([first, second, third]));
  assert.match(err, /demo\/c: verified: digest/);
});

test('a reader that goes away ends it quietly, before everything was fetched', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/big', 30_000_000);
  const script = 'set -o pipefail; "$0" "$@" | head -c 1000 | wc -c';
  const [program = '', ...args] = harness.spawnArguments(['cat', '-q', 'osdf:///demo/big']);
  const child = spawn('bash', ['-c', script, program, ...args], harness.spawnOptions());
  const { exit, out, err } = await ended(child);
  assert.deepEqual([exit, out.trim(), err], [0, '1000', '']);
});

test('a slow reader is waited for', async (t) => {
  const harness = await ObjectHarness.open(t);
  const object = await harness.publish('demo/big', 3_000_000);
  let [under, max] = [0, 0];
  const taken: Buffer[] = [];
  const { exit } = await harness.updraft(['cat', 'osdf:///demo/big'], {
    outBytes: async (chunk) => {
      max = Math.max(max, ++under);
      // The chunk may be reused only after the reader has it.
      await new Promise((resolve) => setImmediate(resolve));
      taken.push(Buffer.from(chunk));
      under--;
    },
  });
  assert.deepEqual([exit, max], [0, 1]);
  assert.deepEqual(Buffer.concat(taken), object);
});

test('a failure after bytes were written is an exit code, and with a manifest bad bytes are never written', async (t) => {
  const harness = await ObjectHarness.open(t);
  const object = await harness.publish('demo/x', 500_000);
  await harness.trouble('caches: corrupt at 100000 length 50 on x');
  const bare = await harness.updraft(['cat', 'osdf:///demo/x']);
  assert.equal(bare.exit, 101, bare.err);
  // If the origin damages what it sends, no cache has anything better.
  await harness.federation.trouble.clear();
  await harness.federation.evict();
  await harness.trouble('origin: corrupt at 100000 length 50 on x');
  const sha256 = (part: Buffer): string => createHash('sha256').update(part).digest('hex');
  const chunks = [0, 1, 2, 3, 4].map((index) =>
    sha256(object.subarray(index * 100_000, (index + 1) * 100_000)),
  );
  const manifest = { bytes: object.length, chunkBytes: 100_000, sha256: sha256(object), chunks };
  await writeFile(harness.at('x.json'), JSON.stringify(manifest));
  const proven = await harness.updraft(['cat', 'osdf:///demo/x', '--manifest', 'x.json'], {
    clock: fastClock(20),
  });
  assert.equal(proven.exit, 89, proven.err);
  assert.deepEqual(Buffer.from(proven.out, 'latin1'), object.subarray(0, 100_000));
});

test('a missing object ends it, after the objects before it were written', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/a', 'first');
  const { exit, out } = await harness.updraft([
    'cat',
    'osdf:///demo/a',
    'osdf:///demo/none',
    'osdf:///demo/a',
  ]);
  assert.deepEqual([exit, out], [96, 'first']);
});

test('output that cannot be written is reported', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/a', 500_000);
  const script = 'exec "$0" "$@" > /dev/full';
  const [program = '', ...args] = harness.spawnArguments(['cat', 'osdf:///demo/a']);
  const child = spawn('/bin/sh', ['-c', script, program, ...args], {
    ...harness.spawnOptions(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const { exit, err } = await ended(child);
  assert.equal(exit, 107);
  assert.match(err, /cannot write to stdout: .*ENOSPC/);
});
