import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { archiveKinds } from '@updraft/base';
import { cases, type Case } from './cases.ts';
import { pieceSizes, replay, type Outcome } from './replay.ts';

for (const one of cases) {
  const outcome = one.fault === undefined ? 'is unpacked exactly' : `is refused as ${one.fault[0]}`;
  test(`${one.name}: ${outcome}, whatever the piece size, and nothing else is left`, async () => {
    for (const pieceSize of pieceSizes(one.bytes, [Infinity, 1, 511, 7919]))
      check(one, await replay(one.bytes, options(one), pieceSize), `pieces of ${pieceSize}`);
  });
}

test('every kind of archive has a case that is unpacked, and docs/plugin.md names it', () => {
  const guide = readFileSync(path.join(import.meta.dirname, '../../docs/plugin.md'), 'utf8');
  for (const kind of archiveKinds) {
    assert.ok(
      cases.some((one) => one.fault === undefined && (one.kind ?? 'tar') === kind),
      `no case for ${kind}`,
    );
    assert.ok(guide.includes(`\`${kind}\``), `docs/plugin.md does not name ${kind}`);
  }
});

function options({ mode = 'auto', expect, limits }: Case): Parameters<typeof replay>[1] {
  return { mode, ...(expect && { expect }), ...(limits && { limits }) };
}

function check(one: Case, outcome: Outcome, how: string): void {
  assert.deepEqual(outcome.beside, ['canary'], how);
  if (one.fault !== undefined) {
    assert.equal(outcome.fault?.kind, one.fault[0], `${how}: ${outcome.fault?.message ?? 'unpacked'}`);
    assert.match(outcome.fault.message, one.fault[1], how);
    assert.deepEqual(outcome.tree, {}, how);
    return;
  }
  assert.equal(outcome.fault, undefined, how);
  assert.deepEqual(outcome.tree, sorted(one.tree ?? {}), how);
  assert.equal(outcome.unpacked?.ended, one.ended ?? 'end-blocks', how);
  assert.equal(outcome.unpacked.kind, one.kind ?? 'tar', how);
  const files = Object.values(one.tree ?? {}).filter((text) => text !== '/' && !text.startsWith('-> '));
  assert.equal(outcome.unpacked.files, files.length, how);
  assert.equal(outcome.unpacked.bytes, Buffer.byteLength(files.join('')), how);
}

function sorted(tree: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(tree).sort(([a], [b]) => (a < b ? -1 : 1)));
}
