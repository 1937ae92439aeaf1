import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { demoFederation } from '../../../test/mini/demo-federation.ts';
import { RawSocket, ReadSlab } from './http-connection.ts';

test('no environment variable makes an untrusted certificate trusted', async (t) => {
  const { federation } = await demoFederation(t);
  const { hostname, port } = new URL(federation.origin.url);
  const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  t.after(() => {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
  });
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  const events = { take: () => undefined, closed: () => undefined };
  const endpoint = { host: hostname, port: Number(port), tls: true, ca: undefined };
  await assert.rejects(RawSocket.open(endpoint, events, t.signal), /certificate/);
});

/** Reads as a socket does: asks for room once, and again only after a read. */
function reader(slab: ReadSlab): (bytes: Buffer) => void {
  let room = slab.room();
  return (bytes) => {
    for (let at = 0; at < bytes.length;) {
      const length = bytes.copy(room, 0, at);
      slab.filled(length);
      room = slab.room();
      at += length;
    }
  };
}

test('every byte is delivered once and in order, gathered or not, and while earlier bytes are in use', async () => {
  const read = fc.record({
    length: fc.integer({ min: 1, max: 600_000 }),
    keep: fc.boolean(),
    turn: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.array(read, { maxLength: 12 }), async (gather, reads) => {
      const got: Buffer[] = [];
      let keep = false;
      let kept: { chunk: Buffer; copy: Buffer } | undefined;
      const slab = new ReadSlab(gather, (chunk) => {
        if (kept !== undefined) assert.ok(kept.chunk.equals(kept.copy), 'bytes in use were overwritten');
        kept = keep ? { chunk, copy: Buffer.from(chunk) } : undefined;
        got.push(Buffer.from(chunk));
        return keep;
      });
      const take = reader(slab);
      const sent = reads.map(({ length }, nth) => Buffer.alloc(length, nth + 1));
      for (const [nth, { keep: next, turn }] of reads.entries()) {
        keep = next;
        take(sent[nth]!);
        if (turn) await nextTurn();
      }
      slab.flush();
      assert.ok(Buffer.concat(got).equals(Buffer.concat(sent)));
    }),
    { numRuns: 60 },
  );
});
