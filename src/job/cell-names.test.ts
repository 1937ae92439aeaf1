import assert from 'node:assert/strict';
import { test } from 'node:test';
import { distinguishingParameters } from './cell-names.ts';

const names = ['url', 'method', 'keep', 'lr'];
const url = 'osdf:///a/long/enough.tar';

test('cells are named by the fewest parameters that distinguish them, short values first', () => {
  const ways = [
    { url, method: 'osdf', keep: '' },
    { url: `${url}2`, method: 'on-demand', keep: '1 GB' },
  ];
  assert.deepEqual(distinguishingParameters(ways, names), ['method']);
  const swept = ways.flatMap((way) => [1, 2].map((lr) => ({ ...way, lr })));
  assert.deepEqual(distinguishingParameters(swept, names), ['method', 'lr']);
});

test('a long value names a cell where nothing else does', () => {
  const cells = [
    { url, method: 'osdf', lr: 1 },
    { url: `${url}2`, method: 'osdf', lr: 1 },
  ];
  assert.deepEqual(distinguishingParameters(cells, names), ['url']);
  assert.deepEqual(distinguishingParameters(cells.slice(1), names), []);
});
