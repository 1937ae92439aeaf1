import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { asFault } from './fault.ts';
import { tar } from '../../test/archives/make-tar.ts';
import { openUnpacker } from './open-unpacker.ts';
import { unpackFetched } from './unpack-fetched.ts';

const damaged = [
  tar({ name: 'a', data: 'a' }, { name: 'b', checksum: 1 }),
  Buffer.alloc(512),
  Buffer.alloc(512),
];

/** The kind of the fault, and how many pieces were fetched before it. */
async function outcome(t: TestContext, verified: string, proofs: object, saysDigest = false) {
  const root = mkdtempSync(path.join(tmpdir(), 'updraft-fetched-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const unpacker = openUnpacker({ name: 'x.tar', mode: 'auto', into: root });
  let pieces = 0;
  const failed = unpackFetched(unpacker, proofs, async (write, onDigest) => {
    if (saysDigest) onDigest();
    for (const piece of damaged) {
      pieces++;
      await write(piece);
    }
    return { verified };
  });
  const kind = await failed.then(
    () => 'none',
    (fault: unknown) => asFault(fault).kind,
  );
  assert.deepEqual(readdirSync(root), [], 'nothing is left');
  return [kind, pieces];
}

test('damage in verified bytes was published; the rest is fetched only if a digest can verify it', async (t) => {
  assert.deepEqual(await outcome(t, 'digest', { sha256: 'x' }), ['archive-kind', 3]);
  assert.deepEqual(await outcome(t, 'digest', {}, true), ['archive-kind', 3]);
  assert.deepEqual(await outcome(t, 'manifest', { manifest: {} }), ['archive-kind', 1]);
  assert.deepEqual(await outcome(t, 'size', {}), ['archive-damaged', 1]);
  assert.deepEqual(await outcome(t, 'none', {}, true), ['archive-damaged', 3]);
});
