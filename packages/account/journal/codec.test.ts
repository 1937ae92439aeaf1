import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decode, encode } from './codec.ts';
import type { Entry } from './entry.ts';

const started: Entry = {
  v: 1,
  t: '2026-01-02T03:04:05.678Z',
  seq: 3,
  kind: 'attempt-started',
  job: '0000',
  attempt: 1,
  why: 'first try',
};

const progress: Entry = { v: 1, t: started.t, seq: 0, job: '0000', attempt: 1, kind: 'progress', loss: 1 };

test('an entry survives encoding and decoding', () => {
  assert.deepEqual(decode(encode(started)), started);
});

test('a loss of NaN survives, although JSON has no NaN', () => {
  for (const loss of [NaN, Infinity, -Infinity]) {
    const entry: Entry = { ...progress, loss, metrics: { val_loss: loss } };
    assert.deepEqual(decode(encode(entry)), entry);
  }
});

test('a line of a later version or of an unknown kind is unknown, not garbled', () => {
  assert.equal(decode(JSON.stringify({ ...started, v: 2 })), 'unknown');
  assert.equal(decode(JSON.stringify({ ...started, kind: 'attempt-painted' })), 'unknown');
  assert.equal(decode(JSON.stringify({ ...started, kind: 'constructor' })), 'unknown');
});

test('a line with missing or mistyped fields is garbled', () => {
  const lines = [
    '',
    'null',
    '[]',
    '7',
    'not json',
    JSON.stringify({ ...started, attempt: 'one' }),
    JSON.stringify({ ...started, job: undefined }),
    JSON.stringify({ ...started, t: 'yesterday' }),
    JSON.stringify({
      v: 1,
      t: started.t,
      seq: 0,
      kind: 'attempt-ended',
      job: '0',
      attempt: 1,
      outcome: 'fine',
      exit: 0,
    }),
    JSON.stringify({ v: 1, t: started.t, seq: 0, kind: 'progress', loss: 1 }),
    ...[
      { loss: 'low' },
      { loss: null },
      { t: 'yesterday' },
      { t: 5 },
      { seq: '1' },
      { job: 5 },
      { attempt: 'one' },
      { boot: 5 },
      { boot: { id: 'a' } },
      { metrics: 5 },
      { metrics: [1] },
      { metrics: null },
      { metrics: { val_loss: 'low' } },
      { metrics: { val_loss: [1] } },
    ].map((wrong) => JSON.stringify({ ...progress, ...wrong })),
  ];
  for (const line of lines) assert.equal(decode(line), 'garbled', line);
});

test('fields of a later version are kept', () => {
  const line = JSON.stringify({ ...started, color: 'green' });
  assert.deepEqual(decode(line), { ...started, color: 'green' });
  const later = { ...progress, color: 'green', shades: [1], depth: 3 };
  assert.deepEqual(decode(JSON.stringify(later)), later);
});

test('decoding never throws, whatever the text', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
      const entry = decode(line);
      assert.ok(typeof entry === 'string' || typeof entry.kind === 'string');
    }),
  );
});
