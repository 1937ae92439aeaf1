import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { cases } from './cases.ts';
import { pax, tar, type TarParts } from './make-tar.ts';
import { replay } from './replay.ts';

const numRuns = Number(process.env['FUZZ_RUNS'] ?? 150);
/** A longer run uses random seeds; on a failure it prints the seed. */
const settings = { numRuns, ...(process.env['FUZZ_RUNS'] === undefined && { seed: 20260601 }) };
const corpus = path.join(import.meta.dirname, 'corpus');

/** Whatever the bytes: the folder is complete or absent, nothing else is touched, and a refusal has a reason. */
async function staysSafe(bytes: Buffer, mode: 'auto' | 'nested', pieceSize: number): Promise<void> {
  const outcome = await replay(bytes, { mode, limits: { entries: 500 } }, pieceSize);
  const shown = () =>
    `${JSON.stringify(outcome.fault)} for ${mode}, ${pieceSize}, ${bytes.toString('base64')}`;
  assert.deepEqual(outcome.beside, ['canary'], shown());
  assert.notEqual(outcome.fault?.kind, 'internal', shown());
  assert.notEqual(outcome.fault?.kind, 'scratch-unusable', shown());
  if (outcome.fault !== undefined) assert.deepEqual(outcome.tree, {}, shown());
  else for (const link of escapes(outcome.tree)) assert.fail(`${link} leads out: ${shown()}`);
}

/** Links that leave the tree when followed part by part, as the kernel does. */
function escapes(tree: Record<string, string>): string[] {
  return Object.entries(tree)
    .filter(([, text]) => text.startsWith('-> '))
    .filter(([link, text]) => leavesBy(path.posix.dirname(link), text.slice(3), tree, 0))
    .map(([link]) => link);
}

function leavesBy(from: string, target: string, tree: Record<string, string>, depth: number): boolean {
  if (target.startsWith('/') || depth > 100) return true;
  let at = from;
  for (const part of target.split('/')) {
    at = path.posix.join(at, part);
    if (at === '..' || at.startsWith('../')) return true;
    const next = tree[at];
    if (next?.startsWith('-> ') !== true) continue;
    if (leavesBy(path.posix.dirname(at), next.slice(3), tree, depth + 1)) return true;
    at = path.posix.join(path.posix.dirname(at), next.slice(3));
  }
  return false;
}

const pieceSizes = fc.constantFrom(1, 100, 511, 512, 513, 4096, 1 << 20);
const names = fc.oneof(
  fc
    .array(fc.constantFrom('a', 'b', 'c', '..', '.', '', 'x.tar', 'é'), { minLength: 1, maxLength: 5 })
    .map((parts) => parts.join('/')),
  fc.string({ maxLength: 20 }),
);
const entries = fc.record({
  name: names,
  link: names,
  type: fc.constantFrom('0', '0', '0', '1', '2', '2', '5', '\0', '3', 'S', 'L', 'K', 'x', 'g', 'V', 'Z'),
  data: fc.oneof(
    fc.string({ maxLength: 600 }),
    names,
    fc.dictionary(fc.constantFrom('path', 'linkpath', 'size'), names).map((records) => pax(records)),
  ),
  mode: fc.nat({ max: 0o7777 }),
});

test('archives of any entries, however named and linked, are unpacked inside their folder or refused', async () => {
  const archives = fc.array(entries, { maxLength: 12 }).map((all: TarParts[]) => tar(...all));
  await fc.assert(
    fc.asyncProperty(archives, pieceSizes, (bytes, size) => staysSafe(bytes, 'auto', size)),
    settings,
  );
});

test('archives within an archive stay inside their folder, too', async () => {
  const inner = fc.array(entries, { maxLength: 6 }).map((all: TarParts[]) => tar(...all));
  const outer = fc
    .array(fc.tuple(names, inner), { minLength: 1, maxLength: 3 })
    .map((all) => tar(...all.map(([name, data]) => ({ name: `${name}.tar`.slice(-99), data }))));
  await fc.assert(
    fc.asyncProperty(outer, pieceSizes, (bytes, size) => staysSafe(bytes, 'nested', size)),
    settings,
  );
});

test('archives with bytes changed, removed, repeated or cut are unpacked inside their folder or refused', async () => {
  const plain = tar(
    { name: 'a', data: 'alpha'.repeat(50) },
    { name: 'b/', type: '5' },
    { name: 'b/l', type: '2', link: '../a' },
  );
  const whole = [
    plain,
    gzipSync(plain),
    zstdCompressSync(plain),
    ...cases.filter(({ fault, bytes }) => !fault && bytes.length < 12_000).map(({ bytes }) => bytes),
  ];
  const changes = fc.array(
    fc.tuple(fc.constantFrom('set', 'remove', 'repeat', 'cut'), fc.nat(), fc.nat({ max: 600 })),
    { minLength: 1, maxLength: 4 },
  );
  const damaged = fc
    .tuple(fc.constantFrom(...whole), changes)
    .map(([bytes, all]) => all.reduce(change, bytes));
  await fc.assert(
    fc.asyncProperty(damaged, pieceSizes, (bytes, size) => staysSafe(bytes, 'auto', size)),
    settings,
  );
});

for (const name of readdirSync(corpus))
  test(`corpus: ${name} stays safe`, async () => {
    const bytes = Buffer.from(readFileSync(path.join(corpus, name), 'utf8'), 'base64');
    for (const size of [1, 513, 1 << 20])
      for (const mode of ['auto', 'nested'] as const) await staysSafe(bytes, mode, size);
  });

function change(bytes: Buffer, [what, where, amount]: [string, number, number]): Buffer {
  const at = bytes.length === 0 ? 0 : where % bytes.length;
  if (what === 'cut') return bytes.subarray(0, at);
  if (what === 'remove') return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + amount)]);
  if (what === 'repeat') return Buffer.concat([bytes.subarray(0, at + amount), bytes.subarray(at)]);
  const copy = Buffer.from(bytes);
  if (copy.length > 0) copy[at] = amount & 0xff;
  return copy;
}
